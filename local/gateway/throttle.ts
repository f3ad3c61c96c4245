import type { UsageKey } from './event.ts'
import type { LimitModel, ThrottlingModel } from './model.ts'
import { Refusal } from './refusal.ts'

/** Takes so many requests at once, and as many more as come up over time. */
class TokenBucket {
  readonly #limit: LimitModel
  #tokens: number
  #at: number

  constructor(limit: LimitModel, now: number) {
    this.#limit = limit
    this.#tokens = limit.burstLimit
    this.#at = now
  }

  /** Whether one more is taken. */
  take(now: number): boolean {
    const { rateLimit, burstLimit } = this.#limit
    this.#tokens = Math.min(burstLimit, this.#tokens + (Math.max(0, now - this.#at) / 1_000) * rateLimit)
    this.#at = now
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}

/** Counts the requests of a stage: first those of each API key, then all. */
export class Throttle {
  readonly #model: ThrottlingModel
  readonly #byKey = new Map<string, TokenBucket>()
  readonly #stage: TokenBucket | undefined

  constructor(model: ThrottlingModel, now: number) {
    this.#model = model
    this.#stage = model.stage && new TokenBucket(model.stage, now)
  }

  /**
   * Counts a request of a method that requires a key.
   * @param value of the key that the authorizer named
   * @throws Refusal INVALID_API_KEY, THROTTLED
   */
  takeOfKey(value: string | undefined, now: number): UsageKey {
    const key = this.#model.keys.get(value ?? '')
    if (value === undefined || !key) throw new Refusal('INVALID_API_KEY')
    const bucket = this.#byKey.get(value) ?? new TokenBucket(key.limit, now)
    this.#byKey.set(value, bucket)
    if (!bucket.take(now)) throw new Refusal('THROTTLED')
    return { id: key.id, value }
  }

  /** Counts a request of any method. @throws Refusal THROTTLED */
  takeOfAll(now: number): void {
    if (this.#stage?.take(now) === false) throw new Refusal('THROTTLED')
  }
}
