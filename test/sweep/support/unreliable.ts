import { setTimeout as sleep } from 'node:timers/promises'
import { serviceError, timeout } from '../../store/support/faults.ts'
import type { Engines } from '../../support/engines.ts'
import { Killed } from './actors.ts'
import { type Clients, ownClients } from './scope-under-sweep.ts'

/** Shares of the requests that fail, or are held up. */
const REFUSED = 0.01
const ANSWER_LOST = 0.01
const HELD_UP = 0.05
const LONGEST_DELAY_MS = 400
/** How long after its sender died a request may still arrive. */
const LATEST_MS = 1_500

/** Clients of one actor over a network that fails, for an actor that may be killed at any request. */
export interface UnreliableClients {
  clients: Clients
  /** Dies at the nth request from now on, until it is revived. */
  killAt(requests: number): void
  revive(): void
  readonly faults: number
  /** Once no request of a dead sender is on its way any more. */
  settled(): Promise<void>
}

export function unreliableClients(engines: Engines, random: () => number): UnreliableClients {
  const clients = ownClients(engines)
  const onTheirWay = new Set<Promise<unknown>>()
  let left = Number.POSITIVE_INFINITY
  let faults = 0

  const onItsOwn = (send: () => Promise<unknown>): void => {
    const request = sleep(random() * LATEST_MS)
      .then(send)
      .catch(() => undefined)
      .finally(() => onTheirWay.delete(request))
    onTheirWay.add(request)
  }

  for (const { middlewareStack } of [clients.dynamodb, clients.s3] as Array<Clients['s3']>) {
    middlewareStack.add(
      (next, context) => async (args) => {
        left -= 1
        if (left <= 0) {
          // The request at which it dies may be lost, or arrive late.
          if (left === 0 && random() < 0.5) onItsOwn(() => next(args))
          throw new Killed()
        }
        const fate = random()
        const busy = () => (context.clientName === 'S3Client' ? serviceError('SlowDown', 503) : throttled())
        if (fate < REFUSED) {
          faults += 1
          throw busy()
        }
        if (fate < REFUSED + HELD_UP) await sleep(random() * LONGEST_DELAY_MS)
        const answer = await next(args)
        if (fate > 1 - ANSWER_LOST) {
          faults += 1
          throw timeout()
        }
        return answer
      },
      // Past the point at which a presigned request, which is never sent, is done.
      { step: 'finalizeRequest', priority: 'low', name: 'unreliable' },
    )
  }
  return {
    clients,
    killAt: (requests) => {
      left = requests
    },
    revive: () => {
      left = Number.POSITIVE_INFINITY
    },
    get faults() {
      return faults
    },
    settled: async () => {
      while (onTheirWay.size > 0) await Promise.all(onTheirWay)
    },
  }
}

function throttled(): Error {
  return serviceError('ThrottlingException', 400)
}
