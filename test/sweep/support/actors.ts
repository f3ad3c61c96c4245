import type { Engines } from '../../support/engines.ts'
import { type Clients, ownClients } from './scope-under-sweep.ts'

/** What a process that was killed would have thrown, had it lived. */
export class Killed extends Error {
  override readonly name = 'Killed'
}

/**
 * Clients that call `before` ahead of each request that they send, attempts of the SDK included, and `after` when the
 * answer is there: what either throws the sender gets instead of an answer.
 */
export function watchedClients(
  engines: Engines,
  {
    before,
    after,
  }: { before?: (command: string) => Promise<void> | void; after?: (command: string) => Promise<void> | void },
): Clients {
  const clients = ownClients(engines)
  for (const { middlewareStack } of [clients.dynamodb, clients.s3] as Array<Clients['s3']>) {
    middlewareStack.add(
      (next, context) => async (args) => {
        const command = String(context.commandName)
        await before?.(command)
        const answer = await next(args)
        await after?.(command)
        return answer
      },
      { step: 'initialize', name: 'watched' },
    )
  }
  return clients
}

/** Clients that die at their nth request: `late` means when it has had its effect, otherwise before. */
export function killedAt(engines: Engines, n: number, late: boolean): { clients: Clients; seen: () => number } {
  let sent = 0
  let answered = 0
  const clients = watchedClients(engines, {
    before: () => {
      sent += 1
      if (sent > n || (!late && sent === n)) throw new Killed()
    },
    after: () => {
      answered += 1
      if (late && answered >= n) throw new Killed()
    },
  })
  return { clients, seen: () => sent }
}
