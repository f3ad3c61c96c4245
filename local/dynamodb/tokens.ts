import { createHash } from 'node:crypto'
import type { KeyValueDb } from 'dynalite/db/index.js'
import { DynamoDbError, validationError } from './errors.ts'
import type { Change } from './store.ts'

/** How long after its completion a transaction answers for its token, in milliseconds. */
const WINDOW_MS = 10 * 60 * 1000

const MAX_TOKEN_LENGTH = 36
const PREFIX = 'token~'

interface Completed {
  token: string
  digest: string
  at: number
}

/** The tokens of completed transactions. They are kept in the database too, so that a retry after a restart is known. */
export class IdempotencyTokens {
  /** In the order of completion. */
  readonly #completed: Map<string, Completed>
  readonly #now: () => number

  private constructor(completed: Completed[], now: () => number) {
    this.#completed = new Map(completed.map((entry) => [entry.token, entry]))
    this.#now = now
  }

  /** Reads the tokens that the database holds. */
  static async load(db: KeyValueDb, now: () => number): Promise<IdempotencyTokens> {
    const iterator = db.values({ gte: PREFIX, lt: `${PREFIX}\xff` })
    const completed: Completed[] = []
    try {
      for (;;) {
        const page = (await iterator.nextv(1000)) as Completed[]
        if (page.length === 0) break
        completed.push(...page)
      }
    } finally {
      await iterator.close()
    }
    return new IdempotencyTokens(
      completed.sort((a, b) => a.at - b.at),
      now,
    )
  }

  /** Throws ValidationException unless `token` is a string of 1 to 36 characters. */
  static check(token: unknown): asserts token is string {
    if (typeof token !== 'string')
      throw new DynamoDbError('SerializationException', 'ClientRequestToken is not a string')
    if (token.length < 1 || token.length > MAX_TOKEN_LENGTH) {
      throw validationError(
        `1 validation error detected: Value '${token}' at 'clientRequestToken' failed to satisfy constraint: ` +
          `Member must have length between 1 and ${MAX_TOKEN_LENGTH}`,
      )
    }
  }

  /** True when this very transaction has completed. Throws IdempotentParameterMismatchException when another has. */
  hasCompleted(token: string, digest: string): boolean {
    const entry = this.#completed.get(token)
    if (!entry || this.#expired(entry)) return false
    if (entry.digest !== digest) {
      throw new DynamoDbError(
        'IdempotentParameterMismatchException',
        'The request uses the same client token as a previous, but non-identical request',
      )
    }
    return true
  }

  /** What to write together with the transaction so that its token is remembered; `remember` it once that is written. */
  record(token: string, digest: string): { changes: Change[]; remember: () => void } {
    const entry = { token, digest, at: this.#now() }
    const changes: Change[] = [{ type: 'put', key: PREFIX + token, value: entry }]
    const expired: string[] = []
    for (const old of this.#completed.values()) {
      if (!this.#expired(old)) break
      expired.push(old.token)
      if (old.token !== token) changes.push({ type: 'del', key: PREFIX + old.token })
    }
    const remember = () => {
      for (const old of expired) this.#completed.delete(old)
      this.#completed.delete(token)
      this.#completed.set(token, entry)
    }
    return { changes, remember }
  }

  #expired({ at }: Completed): boolean {
    return this.#now() - at >= WINDOW_MS
  }
}

/** A digest of a request's parameters that does not depend on the order of attributes or of a set's elements. */
export function digestOf(parameters: unknown): string {
  return createHash('sha256').update(canonical(parameters)).digest('base64')
}

const SETS = new Set(['SS', 'NS', 'BS'])

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members
    .map(([name, member]) => {
      const text = SETS.has(name) && Array.isArray(member) ? canonical([...member].sort()) : canonical(member)
      return `${JSON.stringify(name)}:${text}`
    })
    .join(',')}}`
}
