import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { CachedDocument } from './cached-document.ts'
import { fetchJson, ProviderUnavailableError, type Reach } from './fetch-json.ts'

/** What we use of a discovery document. */
interface Discovery {
  jwksUri: string
  tokenEndpoint: string
}

/** The documents of an identity provider that checks need: its keys, and where it decides. */
export class Provider {
  readonly #reach: Reach
  readonly #issuer: string
  readonly #discovery: CachedDocument<Discovery>
  /** Finds the key of a token in the current key set. */
  readonly keys: CachedDocument<JWTVerifyGetKey>

  constructor(issuer: string, jwksUri: string | undefined, reach: Reach & { now: () => number }) {
    this.#issuer = issuer
    this.#reach = reach
    this.#discovery = new CachedDocument(() => this.#discover(), reach.now)
    this.keys = new CachedDocument(async () => {
      return this.#loadKeys(jwksUri ?? (await this.#discovery.get()).jwksUri)
    }, reach.now)
  }

  /** Where grants are asked for. @throws ProviderUnavailableError */
  async tokenEndpoint(): Promise<string> {
    return (await this.#discovery.get()).tokenEndpoint
  }

  async #discover(): Promise<Discovery> {
    const url = `${this.#issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    const { issuer, jwks_uri: jwksUri, token_endpoint: tokenEndpoint } = await this.#document(url)
    if (issuer !== this.#issuer) throw new ProviderUnavailableError(`${url} is the document of another issuer.`)
    return { jwksUri: address(url, jwksUri), tokenEndpoint: address(url, tokenEndpoint) }
  }

  async #loadKeys(url: string): Promise<JWTVerifyGetKey> {
    const keys = await this.#document(url)
    try {
      return createLocalJWKSet(keys as unknown as JSONWebKeySet)
    } catch (cause) {
      throw new ProviderUnavailableError(`${url} holds no key set.`, { cause })
    }
  }

  async #document(url: string): Promise<Record<string, unknown>> {
    const { status, body } = await fetchJson(this.#reach, url)
    if (status === 200 && typeof body === 'object' && body !== null) return body as Record<string, unknown>
    throw new ProviderUnavailableError(`${url} answered ${status} without the document.`)
  }
}

function address(source: string, value: unknown): string {
  if (typeof value === 'string' && URL.canParse(value) && /^https?:/.test(value)) return value
  throw new ProviderUnavailableError(`${source} lacks an address.`)
}
