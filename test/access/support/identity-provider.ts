import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type CryptoKey,
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose'
import Provider, { errors } from 'oidc-provider'

export const AUDIENCE = 'sandkeep'
const UMA_GRANT = 'urn:ietf:params:oauth:grant-type:uma-ticket'
const SECRET = 'a-secret-of-the-tests'

export type Claims = Record<string, unknown>

export interface User {
  /** Beside the standard ones, of whatever type. */
  claims: Claims
  /** What UMA grants to it. */
  permissions: readonly string[]
}

export interface Decision {
  permission: string
  audience: string
  responseMode: string
  subject: string
}

/** What a path answers instead: nothing ever, a broken connection, or what the function sends. */
export type Fault = 'hang' | 'break' | ((response: ServerResponse) => void)

/** `oidc-provider` on a port of its own, with UMA decisions in the way of Keycloak. */
export interface IdentityProvider {
  readonly issuer: string
  /** By path: what is wrong with it. */
  readonly faults: Map<string, Fault>
  /** The paths that were asked for, in order. */
  readonly requests: string[]
  readonly decisions: Decision[]
  /** A token as the provider gives it to a user, whose name is its `sub`. */
  token(user: string): Promise<string>
  /** A token that the provider did not give, signed with its key unless told otherwise. Undefined leaves a claim out. */
  sign(claims?: Claims, options?: { key?: CryptoKey | Uint8Array; header?: JWTHeaderParameters }): Promise<string>
  /** The provider's own key, for an algorithm that it does not use it for. */
  keyFor(alg: string): Promise<CryptoKey>
  /** Makes a new key, which alone is in the key set from then on. */
  rotate(): Promise<{ key: CryptoKey; kid: string }>
  stop(): Promise<void>
}

export async function startIdentityProvider(users: Record<string, User>): Promise<IdentityProvider> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const rsa = await makeKey('RS256', 'rsa-1')
  const ec = await makeKey('ES256', 'ec-1')
  let published: JWK[] | undefined
  let rotations = 0
  const faults = new Map<string, Fault>()
  const requests: string[] = []
  const decisions: Decision[] = []
  const provider = makeProvider(issuer, [rsa.secret, ec.secret], users)
  addDecisions(provider, { issuer, keys: [rsa.open, ec.open], users, decisions })
  const handle = provider.callback()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? ''
    requests.push(path)
    const fault = faults.get(path)
    if (fault === 'break') response.destroy()
    else if (typeof fault === 'function') fault(response)
    else if (path === '/jwks' && published) response.end(JSON.stringify({ keys: published }))
    else if (fault !== 'hang') handle(request, response)
  })

  return {
    issuer,
    faults,
    requests,
    decisions,
    async token(user) {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: basic(user) },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      })
      const { access_token: token } = (await response.json()) as { access_token: string }
      requests.splice(requests.lastIndexOf('/token'), 1)
      return token
    },
    sign(claims, { key = rsa.key, header = { alg: 'RS256', kid: 'rsa-1', typ: 'JWT' } } = {}) {
      const seconds = Math.floor(Date.now() / 1_000)
      const standard = { iss: issuer, aud: AUDIENCE, sub: 'alice', iat: seconds, exp: seconds + 300 }
      return new SignJWT({ ...standard, ...claims } as JWTPayload).setProtectedHeader(header).sign(key)
    },
    async keyFor(alg) {
      const { alg: _alg, ...secret } = alg.startsWith('ES') ? ec.secret : rsa.secret
      return (await importJWK(secret, alg)) as CryptoKey
    },
    async rotate() {
      rotations += 1
      const kid = `rsa-${rotations + 1}`
      const { key, open } = await makeKey('RS256', kid)
      published = [open]
      return { key, kid }
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function makeKey(alg: 'RS256' | 'ES256', kid: string): Promise<{ key: CryptoKey; secret: JWK; open: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const more = { kid, alg, use: 'sig' }
  const [secret, open] = await Promise.all([exportJWK(privateKey), exportJWK(publicKey)])
  return { key: privateKey, secret: { ...secret, ...more }, open: { ...open, ...more } }
}

function basic(client: string): string {
  return `Basic ${Buffer.from(`${client}:${SECRET}`).toString('base64')}`
}

function makeProvider(issuer: string, keys: JWK[], users: Record<string, User>): Provider {
  const client = (id: string, grant: string) => ({
    client_id: id,
    client_secret: SECRET,
    grant_types: [grant],
    redirect_uris: [],
    response_types: [],
  })
  return new Provider(issuer, {
    jwks: { keys: keys as never },
    clients: [...Object.keys(users).map((name) => client(name, 'client_credentials')), client(AUDIENCE, UMA_GRANT)],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:sandkeep',
        getResourceServerInfo: () => ({
          scope: '',
          audience: AUDIENCE,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 300,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    ttl: { ClientCredentials: 300 },
    extraTokenClaims: (_context, token) => users[token.clientId ?? '']?.claims ?? {},
  })
}

/** What the token endpoint of Keycloak does with the UMA grant in decision mode, for callers with a bearer token. */
function addDecisions(
  provider: Provider,
  {
    issuer,
    keys,
    users,
    decisions,
  }: { issuer: string; keys: JWK[]; users: Record<string, User>; decisions: Decision[] },
): void {
  const known = createLocalJWKSet({ keys })
  const bearers = new WeakMap<object, string>()
  provider.use(async (context, next) => {
    const token = /^Bearer (.+)$/.exec(context.headers.authorization ?? '')?.[1]
    if (context.path === '/token' && token !== undefined) {
      bearers.set(context.req, token)
      context.req.headers.authorization = basic(AUDIENCE)
    }
    return next()
  })
  provider.registerGrantType(
    UMA_GRANT,
    async (context) => {
      const { permission, audience, response_mode: responseMode } = context.oidc.params ?? {}
      const { payload } = await jwtVerify(bearers.get(context.req) ?? '', known, { issuer }).catch(() => {
        throw new errors.InvalidClientAuth('Invalid bearer token')
      })
      const subject = payload.sub ?? ''
      decisions.push({ permission, audience, responseMode, subject } as Decision)
      if (permission === 'nothing#read') throw new errors.InvalidRequest('Resource does not exist.')
      const granted = users[subject]?.permissions.includes(permission as string)
      context.status = granted ? 200 : 403
      context.body = granted ? { result: true } : { error: 'access_denied', error_description: 'not_authorized' }
    },
    ['permission', 'audience', 'response_mode'],
  )
}
