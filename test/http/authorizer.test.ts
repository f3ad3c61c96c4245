import type { APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createAuthorizer } from '../../lambdas/authorizer/handler.ts'
import { ProviderUnavailableError } from '../../src/access/fetch-json.ts'
import type { TokenAccess, TokenRecord } from '../../src/access/tokens.ts'
import type { VerifiedKey } from '../../src/keys/store.ts'
import type { ApiKeyRecord } from '../../src/keys/types.ts'

const record: ApiKeyRecord = {
  id: 'key-1',
  name: 'n',
  role: 'writer',
  bindings: [{ tenant: 'acme', project: '*' }],
  rights: ['act_for_users'],
  createdAt: 1,
}
const asked: string[] = []
const authorizer = createAuthorizer(async (key) => {
  asked.push(key)
  return key === 'good' || key === 'skp_good' ? record : null
})

function event(
  multiValueHeaders: Record<string, string[]> | null | undefined,
  headers: Record<string, string> | null = null,
) {
  return {
    type: 'REQUEST',
    methodArn: 'arn:aws:execute-api:eu-west-1:123456789012:abcdef/api/POST/sandbox/checkpoints/v1/get',
    headers,
    multiValueHeaders,
    requestContext: { requestId: 'request-1' },
  } as unknown as APIGatewayRequestAuthorizerEvent
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe('a good key', () => {
  it('may stand where tokens do, but not beside another', async () => {
    const bearer = { Authorization: ['Bearer skp_good'] }
    expect(await authorizer(event(bearer))).toMatchObject({ context: { kind: 'key', id: 'key-1' } })
    await expect(authorizer(event({ ...bearer, 'X-Api-Key': ['good'] }))).rejects.toThrow('Unauthorized')
  })

  it('is allowed every method of the stage, with what it may do in the context', async () => {
    expect(await authorizer(event({ 'X-Api-Key': ['good'] }))).toStrictEqual({
      principalId: 'key:key-1',
      policyDocument: {
        Version: '2012-10-17',
        Statement: [
          {
            Action: 'execute-api:Invoke',
            Effect: 'Allow',
            Resource: 'arn:aws:execute-api:eu-west-1:123456789012:abcdef/api/*/*',
          },
        ],
      },
      context: {
        kind: 'key',
        id: 'key-1',
        keyId: 'key-1',
        role: 'writer',
        bindings: '[[{"tenant":"acme","project":"*"}]]',
        rights: '["act_for_users"]',
        denied: 'false',
        upload: '',
      },
    })
  })

  it('is told to the gateway with where to announce a body that is too large', async () => {
    const resource = '/sandbox/memory/v1/tasks/{task_id}/turns/{turn}/artifacts/{name}'
    const pathParameters = { task_id: 'task-42', turn: '1', name: '"a/b"' }
    const { context } = await authorizer({
      ...event({ 'X-Api-Key': ['good'] }),
      httpMethod: 'PUT',
      resource,
      pathParameters,
    })
    expect(context?.upload).toBe('/sandbox/memory/v1/tasks/task-42/turns/1/artifacts/%22a%2Fb%22/upload')
  })

  it.each(['x-api-key', 'X-API-KEY', 'X-Api-Key'])('is found as %s', async (name) => {
    expect((await authorizer(event({ [name]: ['good'] }))).principalId).toBe('key:key-1')
    expect((await authorizer(event(undefined, { [name]: 'good' }))).principalId).toBe('key:key-1')
  })
})

describe('the requests of a caller are counted', () => {
  const slots = { prefix: 'slot', count: 25 }
  const slotFor = async (
    verified: Partial<VerifiedKey>,
    headers: Record<string, string[]> = { 'X-Api-Key': ['good'] },
    tokens?: TokenAccess,
  ) => {
    const counting = createAuthorizer(async () => ({ ...record, ...verified }), tokens, slots)
    return (await counting(event(headers))).usageIdentifierKey
  }
  const subject = (name: string): TokenAccess => ({
    verify: async () => ({ subject: name, role: 'viewer', bindings: [] }) as unknown as TokenRecord,
    decide: async () => 'granted',
  })
  const withToken = { Authorization: ['Bearer a.b.c'] }

  it('by its number, so that as many keys as there are slots share none', async () => {
    const found = await Promise.all(Array.from({ length: 25 }, (_, number) => slotFor({ number: number + 7 })))
    expect(new Set(found).size).toBe(25)
    expect(await slotFor({ number: 26 })).toBe('slot001')
  })

  it('by its id when it has no number', async () => {
    expect(await slotFor({ id: 'a' })).toBe(await slotFor({ id: 'a' }))
    const found = await Promise.all(Array.from({ length: 100 }, (_, id) => slotFor({ id: String(id) })))
    expect(new Set(found).size).toBeGreaterThan(20)
    expect(found).not.toContain('slot025')
  })

  it('by the subject of its token, unless there is a key too', async () => {
    const [ann, ben] = await Promise.all(['ann', 'ben'].map((name) => slotFor({}, withToken, subject(name))))
    expect(ann).toMatch(/^slot0(?:[01]\d|2[0-4])$/)
    expect(ben).not.toBe(ann)
    const both = { ...withToken, 'X-Api-Key': ['good'] }
    expect(await slotFor({ number: 3 }, both, subject('ann'))).toBe('slot003')
  })

  it('by none of those while the identity provider cannot say who it is', async () => {
    vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const away: TokenAccess = {
      ...subject('ann'),
      verify: async () => Promise.reject(new ProviderUnavailableError('away')),
    }
    expect(await slotFor({ number: 3 }, withToken, away)).toBe('slot025')
  })
})

describe('no good key', () => {
  it.each([
    ['none', {}],
    ['an unknown one', { 'x-api-key': ['bad'] }],
    ['an empty one', { 'x-api-key': [''] }],
    ['two', { 'x-api-key': ['good', 'good'] }],
    ['two letter cases', { 'x-api-key': ['good'], 'X-Api-Key': ['good'] }],
    ['null headers', null],
  ])('is unauthorized: %s', async (_what, headers) => {
    await expect(authorizer(event(headers))).rejects.toThrow(/^Unauthorized$/)
  })
})

it('logs why a key could not be verified, without the key', async () => {
  const error = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const failing = createAuthorizer(async () => Promise.reject(new Error('the table is away')))
  await expect(failing(event({ 'x-api-key': ['secret-key'] }))).rejects.toThrow('the table is away')
  const line = String(error.mock.calls[0]?.[0])
  expect(JSON.parse(line)).toMatchObject({
    level: 'ERROR',
    request_id: 'request-1',
    error: { message: 'the table is away' },
  })
  expect(line).not.toContain('secret-key')
})
