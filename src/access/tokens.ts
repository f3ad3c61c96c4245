import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { KeyBinding, Role } from '../keys/types.ts'
import { readBindings, readRole, readSubject } from './claims.ts'
import { type Decision, Decisions } from './decisions.ts'
import { ProviderUnavailableError } from './fetch-json.ts'
import { Provider } from './provider.ts'
import { checkOidc, type OidcConfig, type OidcSettings } from './settings.ts'

/** A valid token: whose it is, and what it gives. */
export interface TokenRecord {
  text: string
  /** Milliseconds since the epoch. */
  expiresAt: number
  /** The `sub`. */
  subject: string
  /** None: it gives no role here. */
  role: Role | null
  bindings: KeyBinding[]
}

export interface TokenAccess {
  /**
   * What a token says, or null when it is not valid.
   * @throws ProviderUnavailableError when there are no keys to check it with
   */
  verify(token: string): Promise<TokenRecord | null>
  /**
   * Whether the owner of the token may do what the permission names, as far as the identity provider decides it.
   * @throws ProviderUnavailableError
   */
  decide(token: TokenRecord, permission: string): Promise<Decision>
}

export interface TokenAccessOptions {
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: (() => number) | undefined
  /** Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch
  /** For one request to the provider. Default 2,500: three of them are within the authorizer's ten seconds. */
  timeoutMs?: number
  /** Told of what an operator should know. */
  onRefusal?: (message: string) => void
}

const ALGORITHMS = ['RS256', 'ES256']
const CLOCK_TOLERANCE_SECONDS = 30
const TIMEOUT_MS = 2_500
/** More than all headers of a request may have at the gateway. */
const MAX_TOKEN_LENGTH = 16_384
/** Other kinds of JWT that providers sign with the same keys are no access tokens. */
const headerTypes = new Set(['jwt', 'at+jwt', 'application/at+jwt'])

/** The tokens of one identity provider. @throws InvalidInputError naming a wrong setting */
export function createTokenAccess(settings: OidcSettings, options: TokenAccessOptions = {}): TokenAccess {
  const { now = Date.now, fetch = globalThis.fetch, timeoutMs = TIMEOUT_MS, onRefusal = () => undefined } = options
  const config = checkOidc(settings)
  const provider = new Provider(config.issuer, config.jwksUri, { fetch, timeoutMs, now })
  const decisions = new Decisions(provider, { clientId: config.clientId, fetch, timeoutMs, now, onRefusal })
  return {
    async verify(text) {
      const payload = await verifyToken(text, config, provider, now())
      const subject = payload && readSubject(payload)
      if (!payload || subject === null) return null
      const given = { role: readRole(payload, config), bindings: readBindings(payload, config) }
      return { text, expiresAt: (payload.exp ?? 0) * 1_000, subject, ...given }
    },
    async decide({ text, expiresAt }, permission) {
      return config.uma ? decisions.decide(text, expiresAt, permission) : 'granted'
    },
  }
}

async function verifyToken(
  text: string,
  { issuer, audience }: OidcConfig,
  provider: Provider,
  now: number,
): Promise<JWTPayload | null> {
  if (text.length > MAX_TOKEN_LENGTH) return null
  try {
    const { payload, protectedHeader } = await jwtVerify(text, keyOf(provider), {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(now),
    })
    return isAccessToken(protectedHeader.typ, payload.typ) ? payload : null
  } catch (error) {
    if (error instanceof ProviderUnavailableError) throw error
    // The token is broken, or the key that it names cannot be used for what it says.
    return null
  }
}

function keyOf({ keys }: Provider): JWTVerifyGetKey {
  return async (header, token) => {
    const current = await keys.get()
    try {
      return await current(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      const renewed = await keys.renewed()
      return renewed(header, token)
    }
  }
}

/** Keycloak says in a claim, and others say in the header, what kind of token it is. */
function isAccessToken(headerType: string | undefined, claimType: unknown): boolean {
  const named = headerType === undefined || headerTypes.has(headerType.toLowerCase())
  return named && (claimType === undefined || claimType === 'Bearer')
}
