import type { Engines } from '../../support/engines.ts'
import { type Clients, ownClients } from './scope-under-sweep.ts'

/** What a process that was killed would have thrown, had it lived. */
export class Killed extends Error {
  override readonly name = 'Killed'
}

/** Clients of one actor, each of whose requests goes through `around`. */
export function watchedClients(engines: Engines, around: (send: () => Promise<unknown>) => Promise<unknown>): Clients {
  const clients = ownClients(engines)
  for (const { middlewareStack } of [clients.dynamodb, clients.s3] as Array<Clients['s3']>) {
    middlewareStack.add((next) => (args) => around(() => next(args)) as ReturnType<typeof next>, {
      ...{ step: 'finalizeRequest', priority: 'low', name: 'watched' },
    })
  }
  return clients
}

/** Clients that die at their nth request: `late` means when it has had its effect, otherwise before. */
export function killedAt(engines: Engines, n: number, late: boolean): { clients: Clients; seen: () => number } {
  let sent = 0
  const clients = watchedClients(engines, async (send) => {
    const place = ++sent
    if (place > n || (!late && place === n)) throw new Killed()
    const answer = await send()
    if (place === n) throw new Killed()
    return answer
  })
  return { clients, seen: () => sent }
}

/** Lets the requests of several actors through one at a time, in an order of its own choosing. */
export class Turns {
  readonly #random: () => number
  #waiting: Array<{ actor: number; go: () => void }> = []
  #running = 0

  constructor(random: () => number) {
    this.#random = random
  }

  clients(engines: Engines, actor: number): Clients {
    return watchedClients(engines, async (send) => {
      await new Promise<void>((go) => this.#waiting.push({ actor, go }))
      try {
        return await send()
      } finally {
        this.#running -= 1
      }
    })
  }

  /** Runs the actors to their ends. Now and then it lets one of them do several requests in a row. */
  async run(actors: Array<Promise<unknown>>): Promise<void> {
    let left = actors.length
    const end = () => {
      left -= 1
    }
    for (const actor of actors) actor.then(end, end)
    let favourite = 0
    let burst = 0
    while (left > 0) {
      // Whoever was answered last gets to its next request.
      await new Promise((resume) => setTimeout(resume, 1))
      if (this.#running > 0 || this.#waiting.length === 0) continue
      if (burst-- <= 0) {
        favourite = Math.floor(this.#random() * actors.length)
        burst = Math.floor(this.#random() * 25)
      }
      const found = this.#waiting.findIndex(({ actor }) => actor === favourite)
      const [next] = this.#waiting.splice(Math.max(found, 0), 1)
      this.#running += 1
      next?.go()
    }
    await Promise.all(actors)
  }
}
