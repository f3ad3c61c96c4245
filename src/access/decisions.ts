import { createHash } from 'node:crypto'
import { fetchJson, ProviderUnavailableError, type Reach } from './fetch-json.ts'
import type { Provider } from './provider.ts'

/** `invalid`: the provider does not take the token any more. */
export type Decision = 'granted' | 'denied' | 'invalid'

export interface DecisionsConfig extends Reach {
  /** The client that has the resources. */
  clientId: string
  now: () => number
  /** Told when the provider refuses the question itself: the resource is not set up, for example. */
  onRefusal: (message: string) => void
}

const MAX_AGE_MS = 60_000
const MAX_KEPT = 1_000
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:uma-ticket'

/** Asks the provider whether the owner of a token may do something, and keeps the answer for up to a minute. */
export class Decisions {
  readonly #provider: Provider
  readonly #config: DecisionsConfig
  /** In the order of their making. */
  readonly #kept = new Map<string, { decision: Decision; until: number }>()

  constructor(provider: Provider, config: DecisionsConfig) {
    this.#provider = provider
    this.#config = config
  }

  /**
   * @param expiresAt of the token, in milliseconds since the epoch: an answer is not kept beyond it
   * @throws ProviderUnavailableError
   */
  async decide(token: string, expiresAt: number, permission: string): Promise<Decision> {
    const { now } = this.#config
    const name = `${createHash('sha256').update(token).digest('base64')} ${permission}`
    const kept = this.#kept.get(name)
    if (kept && now() < kept.until) return kept.decision
    this.#kept.delete(name)
    const askedAt = now()
    const decision = await this.#ask(token, permission)
    this.#keep(name, { decision, until: Math.min(expiresAt, askedAt + MAX_AGE_MS) })
    return decision
  }

  #keep(name: string, entry: { decision: Decision; until: number }): void {
    const [oldest] = this.#kept.keys()
    if (this.#kept.size >= MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    this.#kept.set(name, entry)
  }

  async #ask(token: string, permission: string): Promise<Decision> {
    const { clientId, onRefusal } = this.#config
    const { status, body } = await fetchJson(this.#config, await this.#provider.tokenEndpoint(), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
      // One permission: of several, the decision is positive when any is granted.
      body: new URLSearchParams({
        grant_type: GRANT_TYPE,
        audience: clientId,
        permission,
        response_mode: 'decision',
      }),
    })
    if (status === 200) return isRecord(body) && body.result === true ? 'granted' : 'denied'
    if (status === 403) return 'denied'
    if (status === 401) return 'invalid'
    if (status === 400) {
      onRefusal(`The identity provider does not decide on ${permission}: ${describe(body)}.`)
      return 'denied'
    }
    throw new ProviderUnavailableError(`The token endpoint answered ${status}.`)
  }
}

function describe(body: unknown): string {
  const { error, error_description: text } = isRecord(body) ? body : {}
  return [error, text].filter((part) => typeof part === 'string').join(', ') || 'no reason given'
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
