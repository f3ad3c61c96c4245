import type { APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createAuthorizer } from '../../lambdas/authorizer/handler.ts'
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
