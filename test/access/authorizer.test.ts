import type { APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createAuthorizer } from '../../lambdas/authorizer/handler.ts'
import { ProviderUnavailableError } from '../../src/access/fetch-json.ts'
import type { TokenAccess, TokenRecord } from '../../src/access/tokens.ts'
import { type ApiKeyRecord, RIGHTS, ROLES, type Role } from '../../src/keys/types.ts'

const acme = { tenant: 'acme', project: '*' }
const web = { tenant: '*', project: 'web' }
const key: ApiKeyRecord = { id: 'k1', name: 'n', role: 'writer', bindings: [acme], rights: [], createdAt: 1 }
const token: TokenRecord = { text: 't', expiresAt: 1, subject: 'alice', role: 'writer', bindings: [web] }

const keys = (changes: Partial<ApiKeyRecord> = {}) => {
  return async (text: string) => (text === 'good' ? { ...key, ...changes } : null)
}

function tokens(changes: Partial<TokenRecord> = {}, decision: 'granted' | 'denied' | 'invalid' = 'granted') {
  const asked: string[] = []
  const access: TokenAccess = {
    verify: async (text) => {
      if (text === 'unavailable') throw new ProviderUnavailableError('No keys.')
      return text === 'good' ? { ...token, ...changes } : null
    },
    decide: async (_token, permission) => {
      asked.push(permission)
      if (permission === 'sandbox-keys#delete') throw new ProviderUnavailableError('No decision.')
      return decision
    },
  }
  return { access, asked }
}

/** What the context says about the caller. */
function told(context: Record<string, unknown> | null | undefined) {
  const { upload: _ofTheGateway, ...caller } = context ?? {}
  return caller
}

function event(headers: Record<string, string[]>, method = 'POST', resource = '/sandbox/checkpoints/v1/get') {
  return {
    type: 'REQUEST',
    methodArn: 'arn:aws:execute-api:eu-west-1:123456789012:abcdef/api/POST/x',
    httpMethod: method,
    resource,
    multiValueHeaders: headers,
    requestContext: { requestId: 'request-1' },
  } as unknown as APIGatewayRequestAuthorizerEvent
}

const withKey = { 'x-api-key': ['good'] }
const withToken = { authorization: ['Bearer good'] }
const both = { ...withKey, ...withToken }

afterEach(() => {
  vi.restoreAllMocks()
})

describe('a token', () => {
  it('alone is its user, and has no rights', async () => {
    const { access, asked } = tokens()
    const { principalId, context } = await createAuthorizer(keys(), access)(event(withToken))
    expect(principalId).toBe('user:alice')
    expect(told(context)).toStrictEqual({
      kind: 'user',
      id: 'alice',
      role: 'writer',
      bindings: '[[{"tenant":"*","project":"web"}]]',
      rights: '[]',
      denied: 'false',
    })
    expect(asked).toEqual(['sandbox-checkpoints#read'])
  })

  it.each(['Authorization', 'authorization', 'AUTHORIZATION'])('is found as %s', async (name) => {
    const authorizer = createAuthorizer(keys(), tokens().access)
    for (const value of ['Bearer good', 'bearer good', 'BEARER  good']) {
      expect((await authorizer(event({ [name]: [value] }))).principalId).toBe('user:alice')
    }
  })

  it.each<[string, Record<string, string[]>]>([
    ['that is not valid', { authorization: ['Bearer bad'] }],
    ['of another scheme', { authorization: ['Basic good'] }],
    ['without a scheme', { authorization: ['good'] }],
    ['that is empty', { authorization: ['Bearer '] }],
    ['header that is empty', { authorization: [''] }],
    ['with spaces', { authorization: ['Bearer good good'] }],
    ['with a comma', { authorization: ['Bearer good, Bearer good'] }],
    ['that stands twice', { authorization: ['Bearer good', 'Bearer good'] }],
    ['that stands in two letter cases', { authorization: ['Bearer good'], Authorization: ['Bearer good'] }],
    ['with a line break', { authorization: ['Bearer good\n'] }],
    ['beside a key that is not valid', { ...withToken, 'x-api-key': ['bad'] }],
    ['beside an empty key', { ...withToken, 'x-api-key': [''] }],
    ['beside two keys', { ...withToken, 'x-api-key': ['good', 'good'] }],
    ['that is not valid beside a good key', { ...withKey, authorization: ['Bearer bad'] }],
    ['that is malformed beside a good key', { ...withKey, authorization: ['Basic good'] }],
  ])('is unauthorized: one %s', async (_what, headers) => {
    await expect(createAuthorizer(keys(), tokens().access)(event(headers))).rejects.toThrow(/^Unauthorized$/)
  })

  it('is unauthorized where no provider is set, even beside a good key', async () => {
    for (const headers of [withToken, both]) {
      await expect(createAuthorizer(keys())(event(headers))).rejects.toThrow(/^Unauthorized$/)
    }
  })

  it('that the provider does not take any more is unauthorized', async () => {
    const { access } = tokens({}, 'invalid')
    await expect(createAuthorizer(keys(), access)(event(withToken))).rejects.toThrow(/^Unauthorized$/)
  })
})

describe('a decision', () => {
  it('that denies is told to the service', async () => {
    const { access } = tokens({}, 'denied')
    expect((await createAuthorizer(keys(), access)(event(withToken))).context).toMatchObject({ denied: 'true' })
    expect((await createAuthorizer(keys(), access)(event(both))).context).toMatchObject({ denied: 'true' })
  })

  it('is about the route', async () => {
    const { access, asked } = tokens()
    const authorizer = createAuthorizer(keys(), access)
    await authorizer(event(withToken, 'GET', '/sandbox/keys/v1'))
    await authorizer(event(both, 'POST', '/sandbox/keys/v1'))
    expect(asked).toEqual(['sandbox-keys#read', 'sandbox-keys#write'])
  })

  it('is denied without a question where there is no route', async () => {
    const { access, asked } = tokens()
    const answer = await createAuthorizer(keys(), access)(event(withToken, 'GET', '/nowhere'))
    expect(answer.context).toMatchObject({ denied: 'true' })
    expect(asked).toEqual([])
  })

  it('is not asked for about a key alone', async () => {
    const { access, asked } = tokens({}, 'denied')
    const answer = await createAuthorizer(keys(), access)(event(withKey))
    expect(answer.context).toMatchObject({ kind: 'key', id: 'k1', denied: 'false' })
    expect(asked).toEqual([])
  })
})

describe('a key and a token', () => {
  it('are the user of the token, with the rights of the key, where both lists hold', async () => {
    const authorizer = createAuthorizer(keys({ rights: ['act_for_users'] }), tokens().access)
    expect(told((await authorizer(event(both))).context)).toStrictEqual({
      kind: 'user',
      id: 'alice',
      keyId: 'k1',
      role: 'writer',
      bindings: '[[{"tenant":"acme","project":"*"}],[{"tenant":"*","project":"web"}]]',
      rights: '["act_for_users"]',
      denied: 'false',
    })
  })

  it('have the lesser role', async () => {
    const known: Array<Role | null> = [null, ...ROLES]
    for (const ofKey of ROLES) {
      for (const ofToken of known) {
        const authorizer = createAuthorizer(keys({ role: ofKey }), tokens({ role: ofToken }).access)
        const lesser = known[Math.min(known.indexOf(ofKey), known.indexOf(ofToken))] ?? ''
        expect((await authorizer(event(both))).context).toMatchObject({ role: lesser })
      }
    }
  })

  it('have every right with a platform key, and none of a platform token', async () => {
    const platformKey = createAuthorizer(keys({ role: 'platform' }), tokens({ role: 'viewer' }).access)
    expect((await platformKey(event(both))).context).toMatchObject({ role: 'viewer', rights: JSON.stringify(RIGHTS) })
    const platformToken = createAuthorizer(keys(), tokens({ role: 'platform' }).access)
    expect((await platformToken(event(both))).context).toMatchObject({ role: 'writer', rights: '[]' })
    expect((await platformToken(event(withToken))).context).toMatchObject({ rights: JSON.stringify(RIGHTS) })
  })
})

describe('a provider that does not answer', () => {
  it.each<[string, Record<string, string[]>, string, string]>([
    ['about the keys', { authorization: ['Bearer unavailable'] }, 'POST', '/sandbox/checkpoints/v1/get'],
    ['about the keys, beside a key', { ...withKey, authorization: ['Bearer unavailable'] }, 'GET', '/sandbox/keys/v1'],
    ['about the permission', withToken, 'POST', '/sandbox/keys/v1/revoke'],
    ['about the permission, beside a key', both, 'POST', '/sandbox/keys/v1/revoke'],
  ])('is told to the service and logged, and nobody is let in: %s', async (_what, headers, method, resource) => {
    const warn = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const { context } = await createAuthorizer(keys(), tokens().access)(event(headers, method, resource))
    expect(told(context)).toStrictEqual({ unavailable: 'true' })
    const line = String(warn.mock.calls[0]?.[0])
    expect(JSON.parse(line)).toMatchObject({ level: 'WARN', request_id: 'request-1' })
    expect(line).not.toContain('Bearer')
  })

  it('does not matter to who has no good key either', async () => {
    for (const token of ['good', 'unavailable']) {
      const headers = { 'x-api-key': ['bad'], authorization: [`Bearer ${token}`] }
      const asked = createAuthorizer(keys(), tokens().access)(event(headers, 'POST', '/sandbox/keys/v1/revoke'))
      await expect(asked).rejects.toThrow(/^Unauthorized$/)
    }
  })
})
