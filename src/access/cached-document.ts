import { ProviderUnavailableError } from './fetch-json.ts'

/** A document this old is loaded again when it is next needed. */
const MAX_AGE_MS = 600_000
/** The time between two renewals, whatever they are for and whether they succeed. */
const RENEWAL_MS = 60_000

/**
 * A document of the identity provider. It is loaded when it is first needed, and kept: when it cannot be loaded again,
 * the old one goes on to be used. Requests that need it at once share one load.
 */
export class CachedDocument<T> {
  readonly #load: () => Promise<T>
  readonly #now: () => number
  #first: Promise<T> | undefined
  #latest: { document: T; loadedAt: number } | undefined
  #renewal: { at: number; result: Promise<T> } | undefined

  constructor(load: () => Promise<T>, now: () => number) {
    this.#load = load
    this.#now = now
  }

  /** @throws ProviderUnavailableError when none was ever loaded and this one cannot be */
  async get(): Promise<T> {
    if (!this.#latest) {
      this.#first ??= this.#loadNow().finally(() => {
        this.#first = undefined
      })
      return this.#first
    }
    const { document, loadedAt } = this.#latest
    if (this.#now() - loadedAt < MAX_AGE_MS) return document
    try {
      return await this.renewed()
    } catch (error) {
      if (error instanceof ProviderUnavailableError) return document
      throw error
    }
  }

  /**
   * The document, loaded again unless that was done within the last minute.
   * @throws ProviderUnavailableError when that failed
   */
  renewed(): Promise<T> {
    const now = this.#now()
    if (!this.#renewal || now - this.#renewal.at >= RENEWAL_MS) this.#renewal = { at: now, result: this.#loadNow() }
    return this.#renewal.result
  }

  async #loadNow(): Promise<T> {
    const document = await this.#load()
    this.#latest = { document, loadedAt: this.#now() }
    return document
  }
}
