import { createSecretKey } from 'node:crypto'
import { type JWK, type JWTHeaderParameters, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTokenAccess, type TokenAccess, type TokenAccessOptions } from '../../src/access/tokens.ts'
import { AUDIENCE, type Claims, type IdentityProvider, startIdentityProvider } from './support/identity-provider.ts'

let idp: IdentityProvider
let other: IdentityProvider
beforeAll(async () => {
  const alice = {
    claims: { realm_access: { roles: ['writer'] }, sandbox_projects: ['acme/web'] },
    permissions: [],
  }
  ;[idp, other] = await Promise.all([startIdentityProvider({ alice }), startIdentityProvider({ alice })])
})
afterAll(() => Promise.all([idp.stop(), other.stop()]))

/** What was asked for so far is forgotten, and nothing is wrong. */
let now: number
beforeEach(() => {
  now = Date.now()
  idp.faults.clear()
  idp.requests.length = 0
})

const access = (more: object = {}, options: TokenAccessOptions = {}): TokenAccess =>
  createTokenAccess({ issuer: idp.issuer, audience: AUDIENCE, ...more }, { now: () => now, ...options })
const count = (path: string) => idp.requests.filter((request) => request === path).length
const seconds = () => Math.floor(now / 1_000)

describe('a good token', () => {
  it('of the provider says who it is of and what it gives', async () => {
    const text = await idp.token('alice')
    expect(await access().verify(text)).toStrictEqual({
      text,
      expiresAt: expect.any(Number),
      subject: 'alice',
      role: 'writer',
      bindings: [{ tenant: 'acme', project: 'web' }],
    })
  })

  it.each<[string, Claims, object?]>([
    ['with one audience of several', { aud: ['account', AUDIENCE] }],
    ['that a list of header types allows', {}, { typ: 'at+jwt' }],
    ['without a header type', {}, { typ: undefined }],
    ['that says it is a bearer token, as those of Keycloak', { typ: 'Bearer' }],
    ['whose issue lies ahead, as clocks differ', { iat: Math.floor(Date.now() / 1_000) + 20 }],
  ])('is one %s', async (_what, claims, header) => {
    const token = await idp.sign(claims, { header: { alg: 'RS256', kid: 'rsa-1', ...header } as JWTHeaderParameters })
    expect(await access().verify(token)).toMatchObject({ subject: 'alice' })
  })

  it('is taken up to 30 seconds beyond its times', async () => {
    const verify = async (claims: Claims) => (await access().verify(await idp.sign(claims))) !== null
    expect(await verify({ exp: seconds() - 29 })).toBe(true)
    expect(await verify({ exp: seconds() - 31 })).toBe(false)
    expect(await verify({ nbf: seconds() + 29 })).toBe(true)
    expect(await verify({ nbf: seconds() + 32 })).toBe(false)
  })

  it('is judged by the clock that is given', async () => {
    const token = await idp.sign()
    const { verify } = access()
    expect(await verify(token)).not.toBeNull()
    now += 331_000
    expect(await verify(token)).toBeNull()
  })
})

describe('a broken token', () => {
  it.each<[string, Claims]>([
    ['of another issuer', { iss: 'http://127.0.0.1:1/realms/other' }],
    ['whose issuer differs in a slash', { iss: 'slash' }],
    ['without an issuer', { iss: undefined }],
    ['for another audience', { aud: 'account' }],
    ['without an audience', { aud: undefined }],
    ['that is expired', { exp: 1 }],
    ['that never expires', { exp: undefined }],
    ['whose expiry is no number', { exp: '9999999999' }],
    ['that is not yet valid', { nbf: 9_999_999_999 }],
    ['without a subject', { sub: undefined }],
    ['with an empty subject', { sub: '' }],
    ['whose subject is no text', { sub: 7 }],
    ['whose subject is half a character', { sub: 'a\ud800' }],
    ['whose subject is too long', { sub: 'a'.repeat(256) }],
    ['that is an ID token of Keycloak', { typ: 'ID' }],
    ['that is a refresh token of Keycloak', { typ: 'Refresh' }],
    ['that is bound to a key of its sender', { typ: 'DPoP' }],
  ])('is one %s', async (_what, claims) => {
    const broken = claims.iss === 'slash' ? { iss: `${idp.issuer}/` } : claims
    expect(await access().verify(await idp.sign(broken))).toBeNull()
  })

  it('is one of another algorithm, though the key would do for it', async () => {
    const { keys } = (await (await fetch(`${idp.issuer}/jwks`)).json()) as { keys: JWK[] }
    const anyUse = JSON.stringify({ keys: keys.map(({ alg: _alg, ...key }) => key) })
    idp.faults.set('/jwks', (response) => response.end(anyUse))
    const verify = async (alg: string, kid: string) => {
      return access().verify(await idp.sign({}, { header: { alg, kid }, key: await idp.keyFor(alg) }))
    }
    for (const alg of ['PS256', 'RS512', 'RS384']) expect(await verify(alg, 'rsa-1'), alg).toBeNull()
    expect(await verify('RS256', 'rsa-1')).not.toBeNull()
    expect(await verify('ES256', 'ec-1')).not.toBeNull()
  })

  it('is another kind of JWT that the provider signs', async () => {
    for (const typ of ['logout+jwt', 'id_token', '']) {
      expect(await access().verify(await idp.sign({}, { header: { alg: 'RS256', kid: 'rsa-1', typ } }))).toBeNull()
    }
  })

  it('is one without a signature', async () => {
    const unsigned = new UnsecuredJWT({ sub: 'alice' })
      .setIssuer(idp.issuer)
      .setAudience(AUDIENCE)
      .setExpirationTime('1h')
    expect(await access().verify(unsigned.encode())).toBeNull()
    const [header, payload] = (await idp.sign()).split('.')
    expect(await access().verify(`${header}.${payload}.`)).toBeNull()
  })

  it('is one signed with the public key as a secret', async () => {
    const keys = await (await fetch(`${idp.issuer}/jwks`)).text()
    const secrets = [keys, JSON.stringify(JSON.parse(keys).keys[0])]
    for (const secret of secrets) {
      const key = createSecretKey(Buffer.from(secret)) as unknown as Uint8Array
      expect(await access().verify(await idp.sign({}, { key, header: { alg: 'HS256', kid: 'rsa-1' } }))).toBeNull()
    }
  })

  it('is one of another realm, even under the name of our key', async () => {
    expect(await access().verify(await other.token('alice'))).toBeNull()
    const foreign = await other.sign({ iss: idp.issuer })
    expect(await access().verify(foreign)).toBeNull()
  })

  it('is one that is changed in any part', async () => {
    const token = await idp.sign()
    const [header = '', payload = '', signature = ''] = token.split('.')
    const admin = Buffer.from(JSON.stringify({ ...JSON.parse(atob(payload)), sub: 'root' })).toString('base64url')
    const swapped = signature.startsWith('A') ? `B${signature.slice(1)}` : `A${signature.slice(1)}`
    for (const text of [
      `${header}.${admin}.${signature}`,
      `${header}.${payload}.${swapped}`,
      `${token}.`,
      `.${token}`,
    ]) {
      expect(await access().verify(text)).toBeNull()
    }
  })

  it.each([
    '',
    '.',
    '..',
    'a',
    'a.b',
    'a.b.c',
    'a.b.c.d.e',
    `${btoa('{}')}.${btoa('{}')}.x`,
    `${btoa('{"alg":"RS256","crit":["x"],"x":1}')}.${btoa('[]')}.AAAA`,
    'skp_0000000000000000_',
    'é',
  ])('is %j', async (text) => {
    expect(await access().verify(text)).toBeNull()
  })

  it('is one of more than 16 KB, and nothing is done with it', async () => {
    expect(await access().verify(await idp.sign({ sandbox_projects: ['a/'.repeat(500_000)] }))).toBeNull()
    expect(idp.requests).toEqual([])
    expect(await access().verify(await idp.sign({ note: 'x'.repeat(11_000) }))).not.toBeNull()
  })
})

describe('the keys', () => {
  it('are found by discovery, once, or where the settings say', async () => {
    const token = await idp.sign()
    const { verify } = access()
    await Promise.all([verify(token), verify(token), verify(token)])
    expect(await verify(token)).not.toBeNull()
    expect(idp.requests).toEqual(['/.well-known/openid-configuration', '/jwks'])
    idp.requests.length = 0
    expect(await access({ jwksUri: `${idp.issuer}/jwks` }).verify(token)).not.toBeNull()
    expect(idp.requests).toEqual(['/jwks'])
  })

  it('are looked up again for an unknown one, at most once a minute', async () => {
    const { verify } = access()
    const unknown = await Promise.all(
      ['x', 'y', 'z'].map((kid) => idp.sign({}, { header: { alg: 'RS256', kid, typ: 'JWT' } })),
    )
    const tryAll = async () => {
      expect(await Promise.all(unknown.map((token) => verify(token)))).toEqual([null, null, null])
    }
    await tryAll()
    expect(count('/jwks')).toBe(2)
    now += 59_000
    await tryAll()
    expect(count('/jwks')).toBe(2)
    now += 1_000
    await tryAll()
    expect(count('/jwks')).toBe(3)
    expect(await verify(await idp.sign())).not.toBeNull()
    expect(count('/jwks')).toBe(3)
  })

  it.each(['break', 'hang', 'error', 'no JSON', 'no keys'] as const)(
    'go on to work when they cannot be loaded again: %s',
    async (how) => {
      const { verify } = access({}, { timeoutMs: 1_000 })
      const token = await idp.sign()
      expect(await verify(token)).not.toBeNull()
      idp.faults.set('/jwks', faultOf(how))
      for (let hours = 0; hours < 2; hours++) {
        now += 3_600_000
        const fresh = await idp.sign({ exp: seconds() + 300 })
        expect(await verify(fresh)).not.toBeNull()
        expect(await verify(fresh)).not.toBeNull()
        const unknown = await idp.sign({ exp: seconds() + 300 }, { header: { alg: 'RS256', kid: 'x' } })
        await expect(verify(unknown)).rejects.toMatchObject({ name: 'ProviderUnavailableError' })
      }
      // A broken connection is tried twice.
      expect(count('/jwks')).toBe(1 + (how === 'break' ? 4 : 2))
    },
  )

  it.each(['break', 'hang', 'error', 'no JSON', 'no keys'] as const)(
    'that were never there leave nothing known, until they are: %s',
    async (how) => {
      const token = await idp.sign()
      for (const path of ['/jwks', '/.well-known/openid-configuration']) {
        const { verify } = access({}, { timeoutMs: 1_000 })
        idp.faults.set(path, faultOf(how))
        await expect(verify(token)).rejects.toMatchObject({ name: 'ProviderUnavailableError' })
        idp.faults.clear()
        expect(await verify(token)).not.toBeNull()
      }
    },
  )

  it('are not needed to refuse what cannot be a token', async () => {
    idp.faults.set('/jwks', 'break')
    expect(await access().verify('a.b.c')).toBeNull()
    const secret = new Uint8Array(32)
    expect(await access().verify(await idp.sign({}, { key: secret, header: { alg: 'HS256' } }))).toBeNull()
  })

  it('of a discovery document that names another issuer are not used', async () => {
    idp.faults.set('/.well-known/openid-configuration', (response) =>
      response.end(
        JSON.stringify({ issuer: other.issuer, jwks_uri: `${other.issuer}/jwks`, token_endpoint: 'http://x' }),
      ),
    )
    await expect(access().verify(await idp.sign())).rejects.toThrow('is the document of another issuer')
  })

  it('are not fetched over a redirect', async () => {
    idp.faults.set('/jwks', (response) => response.writeHead(302, { location: `${other.issuer}/jwks` }).end())
    await expect(access().verify(await other.sign({ iss: idp.issuer }))).rejects.toThrow('did not answer')
  })

  it('that no key of the set can be used as are a broken token, and no failure', async () => {
    const weak = { kty: 'RSA', kid: 'weak', n: 'AQAB', e: 'AQAB' }
    const secret = { kty: 'oct', kid: 'secret', k: 'AAAA' }
    idp.faults.set('/jwks', (response) => response.end(JSON.stringify({ keys: [weak, secret, { kty: 'new' }] })))
    const { verify } = access()
    for (const kid of ['weak', 'secret']) {
      expect(await verify(await idp.sign({}, { header: { alg: 'RS256', kid } }))).toBeNull()
    }
  })

  it('change when the provider changes them', async () => {
    const { verify } = access()
    const before = await idp.sign()
    expect(await verify(before)).not.toBeNull()
    const { key, kid } = await idp.rotate()
    const after = await idp.sign({}, { key, header: { alg: 'RS256', kid } })
    // All at once: those that do not load the keys wait for the one that does.
    const verified = await Promise.all([verify(after), verify(after), verify(after)])
    for (const record of verified) expect(record).not.toBeNull()
    expect(count('/jwks')).toBe(2)
    expect(await verify(before)).toBeNull()
  })

  it('that the provider has withdrawn are forgotten within ten minutes', async () => {
    const { key, kid } = await idp.rotate()
    const token = await idp.sign({ exp: seconds() + 3_600 }, { key, header: { alg: 'RS256', kid } })
    const { verify } = access()
    expect(await verify(token)).not.toBeNull()
    await idp.rotate()
    now += 599_000
    expect(await verify(token)).not.toBeNull()
    now += 1_000
    expect(await verify(token)).toBeNull()
  })
})

type Failure = 'break' | 'hang' | 'error' | 'no JSON' | 'no keys'

function faultOf(how: Failure): Parameters<IdentityProvider['faults']['set']>[1] {
  if (how === 'break' || how === 'hang') return how
  const body = how === 'no keys' ? '{"keys":7}' : '<html>'
  return (response) => response.writeHead(how === 'error' ? 500 : 200).end(body)
}
