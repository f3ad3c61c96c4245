import type { Random } from './random.ts'

/** A lease as an answer gave it, and the head of its thread as far as it is known. */
export interface KnownLease {
  writer: { thread_id: string; owner_token: string; fence: number }
  headId: string | null
}

const KEPT = 12

/** What answers have named, so that later requests can name it too: without it no request would get far. */
export class KnownValues {
  readonly #byName = new Map<string, unknown[]>()
  readonly #paths = new Map<string, Record<string, string>>()
  readonly #leases = new Map<string, KnownLease>()

  constructor(first: Readonly<Record<string, readonly unknown[]>>) {
    for (const [name, values] of Object.entries(first)) this.#byName.set(name, [...values])
  }

  /** One that a field of this name had, if any. */
  valueOf(name: string, random: Random): unknown {
    const values = this.#byName.get(name)
    return values && random.pick(values)
  }

  /** The parameters of a path that leads to something, if any is known. */
  pathOf(resource: string): Record<string, string> | undefined {
    return this.#paths.get(resource)
  }

  learnPath(resource: string, parameters: Record<string, string>): void {
    this.#paths.set(resource, parameters)
  }

  lease(random: Random): KnownLease | undefined {
    return this.#leases.size === 0 ? undefined : random.pick([...this.#leases.values()])
  }

  /** Takes in what an answer holds. */
  learn(value: unknown): void {
    if (Array.isArray(value)) {
      for (const each of value.slice(0, 3)) this.learn(each)
      return
    }
    if (typeof value !== 'object' || value === null) return
    this.#learnLease(value as Record<string, unknown>)
    for (const [name, each] of Object.entries(value)) {
      if (typeof each === 'string' || typeof each === 'number') this.#keep(name, each)
      else this.learn(each)
    }
  }

  /** Takes in one value of a field. */
  learnField(name: string, value: string | number): void {
    this.#keep(name, value)
  }

  /** Takes in that a thread has a new head. */
  learnHead(threadId: string, headId: string | null): void {
    const lease = this.#leases.get(threadId)
    if (lease) lease.headId = headId
  }

  #learnLease({ thread_id, owner_token, fence, head_id }: Record<string, unknown>): void {
    if (typeof thread_id !== 'string' || typeof owner_token !== 'string' || typeof fence !== 'number') return
    const headId = typeof head_id === 'string' ? head_id : null
    if (this.#leases.size < KEPT || this.#leases.has(thread_id)) {
      this.#leases.set(thread_id, { writer: { thread_id, owner_token, fence }, headId })
    }
  }

  #keep(name: string, value: string | number): void {
    const values = this.#byName.get(name) ?? []
    if (values.includes(value)) return
    if (values.length >= KEPT) values.splice(values.length >> 1, 1)
    values.push(value)
    this.#byName.set(name, values)
  }
}
