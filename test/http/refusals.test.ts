import type { S3Client } from '@aws-sdk/client-s3'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createServiceHandler } from '../../lambdas/checkpoints/handler.ts'
import { BASE, ROUTES } from '../../lambdas/checkpoints/routes.ts'
import type { Services } from '../../lambdas/checkpoints/service.ts'
import { createServiceHandler as createInstancesHandler } from '../../lambdas/instances/handler.ts'
import type { ApiHandler } from '../../lambdas/shared/api.ts'
import type { CheckpointStore } from '../../src/checkpoints/store.ts'
import { UnavailableError } from '../../src/errors.ts'
import { ROLES } from '../../src/keys/types.ts'
import { createMemoryCheckpointStore } from '../../testkit/memory-checkpoint-store.ts'
import { createMemoryInstanceStore } from '../../testkit/memory-instance-store.ts'
import { call, errorOf, lambdaContext, proxyEvent } from './support/events.ts'

const HEAD = `${BASE}/head`
const GET = `${BASE}/get`

/** What the handler asks of the stores; each may be replaced by a test. */
let getHead: (threadId: unknown) => Promise<string | null>
let scopes: unknown[]
let handler: ApiHandler

beforeEach(() => {
  const store = createMemoryCheckpointStore()
  getHead = async (threadId) => store.getHead(threadId as string)
  scopes = []
  const services: Services = {
    checkpoints: ({ scope }) => {
      scopes.push(scope)
      return { getHead: (id: string) => getHead(id), get: (id: string) => store.get(id) } as unknown as CheckpointStore
    },
    blobs: () => {
      throw new Error('No test here asks for blobs.')
    },
  }
  handler = createServiceHandler({ s3: {} as S3Client, bucketName: 'bucket' }, services)
})
afterEach(() => {
  vi.restoreAllMocks()
})

const head = { path: HEAD, body: { thread_id: 't' } }

describe('every answer', () => {
  it('carries the request id and the security headers, no cache, JSON', async () => {
    const answer = await call(handler, head)
    expect(answer).toMatchObject({ status: 200, body: { head_id: null } })
    expect(answer.headers).toStrictEqual({
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'x-request-id': 'request-1',
      'Referrer-Policy': 'no-referrer',
      'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
      'X-Content-Type-Options': 'nosniff',
    })
  })

  it('carries them when it is a refusal', async () => {
    const answer = await call(handler, { path: '/nowhere' })
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'x-request-id': 'request-1',
      'X-Content-Type-Options': 'nosniff',
    })
  })
})

describe('route and method', () => {
  it('answers 404 to an unknown route, before it asks for a key', async () => {
    const event = proxyEvent({ path: '/nowhere', headers: { 'X-Sandbox-Tenant-Id': undefined } })
    const answer = await call(handler, { ...event, requestContext: { requestId: 'r' } } as APIGatewayProxyEvent)
    expect(answer.status).toBe(404)
    expect(errorOf(answer).code).toBe('not_found')
  })

  it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'post'])('answers 405 to %s', async (method) => {
    const answer = await call(handler, { ...head, method })
    expect(answer.status).toBe(405)
    expect(answer.headers.allow).toBe('POST')
    expect(errorOf(answer).code).toBe('method_not_allowed')
  })

  it('answers 404 to an event that is no request at all', async () => {
    const scheduled = { source: 'aws.events', 'detail-type': 'Scheduled Event', detail: {} }
    const answer = await call(handler, { ...scheduled, requestContext: undefined } as unknown as APIGatewayProxyEvent)
    expect(answer).toMatchObject({ status: 404, headers: { 'x-request-id': 'invocation-1' } })
  })
})

describe('key', () => {
  it.each([
    ['no authorizer context', undefined],
    ['an empty one', {}],
    ['an unknown role', { role: 'root', bindings: '[]' }],
    ['no bindings', { role: 'viewer' }],
  ])('answers 401 to %s, before it looks at the tenancy headers', async (_what, authorizer) => {
    const event = proxyEvent({ ...head, headers: { 'X-Sandbox-Tenant-Id': undefined } })
    const answer = await call(handler, {
      ...event,
      requestContext: { ...event.requestContext, authorizer },
    } as APIGatewayProxyEvent)
    expect(answer.status).toBe(401)
    expect(errorOf(answer).code).toBe('unauthenticated')
  })
})

describe('tenancy headers', () => {
  const name = 'X-Sandbox-Tenant-Id'

  it.each(['X-Sandbox-Tenant-Id', 'x-sandbox-tenant-id', 'X-SANDBOX-TENANT-ID', 'x-Sandbox-tenant-ID'])(
    'are found as %s, and their value keeps its case',
    async (spelled) => {
      const answer = await call(handler, { ...head, headers: { [name]: undefined, [spelled]: 'AcMe-1.x_y' } })
      expect(answer.status).toBe(200)
      expect(scopes).toStrictEqual([{ tenant: 'AcMe-1.x_y', project: 'web' }])
    },
  )

  it('are found when the event has no multi-value map', async () => {
    const { multiValueHeaders: _none, ...event } = proxyEvent(head)
    const answer = await call(handler, event as unknown as APIGatewayProxyEvent)
    expect(answer.status).toBe(200)
    expect(scopes).toStrictEqual([{ tenant: 'acme', project: 'web' }])
  })

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['malformed', 'a/b'],
    ['led by a dot', '.a'],
    ['padded', ' acme'],
    ['not ASCII', 'ácme'],
    ['a list', 'acme, other'],
    ['a wildcard', '*'],
    ['too long', 'a'.repeat(129)],
    ['repeated', ['acme', 'acme']],
  ])('are refused when one is %s', async (_what, value) => {
    for (const header of [name, 'X-Sandbox-Project-Id']) {
      const answer = await call(handler, { ...head, role: 'viewer', bindings: [], headers: { [header]: value } })
      expect(answer.status).toBe(400)
      expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field: header })
    }
    expect(scopes).toStrictEqual([])
  })

  it('are refused when one stands in two letter cases', async () => {
    const answer = await call(handler, { ...head, headers: { 'x-sandbox-tenant-id': 'other' } })
    expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field: name })
  })

  it('take a name of 128 characters', async () => {
    const answer = await call(handler, { ...head, headers: { [name]: 'a'.repeat(128) } })
    expect(answer.status).toBe(200)
  })

  it('are refused when the header maps are null', async () => {
    const answer = await call(handler, {
      ...proxyEvent(head),
      headers: null,
      multiValueHeaders: null,
    } as unknown as APIGatewayProxyEvent)
    expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field: name })
  })
})

describe('rights', () => {
  it.each([
    ['the very project', { tenant: 'acme', project: 'web' }, 200],
    ['all projects of the tenant', { tenant: 'acme', project: '*' }, 200],
    ['the project in all tenants', { tenant: '*', project: 'web' }, 200],
    ['another project', { tenant: 'acme', project: 'api' }, 403],
    ['another tenant', { tenant: 'Acme', project: 'web' }, 403],
    ['another tenant with all projects', { tenant: 'other', project: '*' }, 403],
  ])('are by the bindings: %s', async (_what, binding, status) => {
    const answer = await call(handler, { ...head, role: 'viewer', bindings: [binding] })
    expect(answer.status).toBe(status)
  })

  it('are none without a binding', async () => {
    expect((await call(handler, { ...head, role: 'platform', bindings: [] })).status).toBe(403)
  })

  it.each(ROUTES.map((route) => [route.path, route.role] as const))('of %s begin at %s', async (path, least) => {
    for (const role of ROLES) {
      const answer = await call(handler, { path, role, body: 'no JSON' })
      expect(answer.status, role).toBe(ROLES.indexOf(role) >= ROLES.indexOf(least) ? 400 : 403)
    }
  })

  it('are refused with one and the same body, and before the content is looked at', async () => {
    const bindings = [{ tenant: 'acme', project: 'web' }]
    const unlike = await call(handler, {
      ...head,
      bindings,
      headers: { 'X-Sandbox-Tenant-Id': 'nobody', 'content-type': 'text/plain' },
    })
    const role = await call(handler, { path: `${BASE}/append`, role: 'viewer', body: 'no JSON' })
    expect(unlike.status).toBe(403)
    expect(unlike.body).toStrictEqual(role.body)
  })
})

describe('content', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
  ])('is taken as %s', async (type) => {
    expect((await call(handler, { ...head, headers: { 'content-type': type } })).status).toBe(200)
  })

  it.each([
    undefined,
    '',
    'text/plain',
    'application/jsonx',
    'application/x-www-form-urlencoded',
    ['application/json', 'application/json'],
  ])('is refused as %s', async (type) => {
    const answer = await call(handler, { ...head, headers: { 'content-type': type }, body: 'x'.repeat(4_194_305) })
    expect(answer.status).toBe(415)
    expect(errorOf(answer)).toMatchObject({ code: 'unsupported_media_type', field: 'content-type' })
  })

  it('is refused over the inline limit, with the way that takes it', async () => {
    const answer = await call(handler, { ...head, body: ' '.repeat(4_194_305) })
    expect(answer.status).toBe(413)
    expect(errorOf(answer)).toMatchObject({ code: 'payload_too_large', upload: '/sandbox/checkpoints/v1/uploads' })
  })

  it('is taken at the inline limit', async () => {
    const text = JSON.stringify({ thread_id: 't' })
    expect((await call(handler, { ...head, body: text.padEnd(4_194_304) })).status).toBe(200)
  })

  it.each([
    ['no body', null],
    ['an empty body', ''],
    ['a broken body', '{"thread_id":'],
    ['a body of another format', 'thread_id=t'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['a half surrogate in UTF-8', Buffer.from('7b2274687265616420223a22eda080227d', 'hex')],
    ['UTF-16', Buffer.from('{"thread_id":"t"}', 'utf16le')],
    ['null', 'null'],
    ['a number', '1'],
    ['an array', '[]'],
    ['a string', '"t"'],
  ])('is refused when it is %s', async (_what, body) => {
    const answer = await call(handler, { ...head, body })
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field: 'body' })
  })

  it('is taken as text when the event says that it is not base64', async () => {
    const event = { ...proxyEvent(head), body: '{"thread_id":"é"}', isBase64Encoded: false }
    expect((await call(handler, event)).status).toBe(200)
    for (const body of [null, '']) {
      expect(errorOf(await call(handler, { ...event, body }))).toMatchObject({ field: 'body' })
    }
  })

  it.each([
    ['an unknown field', { thread_id: 't', extra: 1 }, 'extra'],
    ['a field that objects inherit', { thread_id: 't', toString: 1 }, 'toString'],
    ['an unknown field that the parser made ordinary', '{"thread_id":"t","__proto__":{}}', '__proto__'],
  ])('is refused with %s', async (_what, body, field) => {
    const answer = await call(handler, { path: HEAD, body })
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field })
  })

  it.each([
    ['/append', { checkpoint: {}, expected_head_id: null }, 'writer'],
    ['/append', { checkpoint: {}, expected_head_id: null, writer: 'w' }, 'writer'],
    ['/append', { checkpoint: {}, expected_head_id: null, writer: { token: 1 } }, 'writer.token'],
    ['/append', { checkpoint: {}, expected_head_id: null, writer: {}, request_token: 5 }, 'request_token'],
    ['/append', { checkpoint: {}, expected_head_id: null, writer: {}, request_token: '' }, 'request_token'],
    ['/list', { thread_id: 't', page: 1 }, 'page'],
    ['/references', { all: true }, 'all'],
    ['/writers/acquire', { thread_id: 't', owner_token: 1 }, 'owner_token'],
    ['/blobs/uploads', {}, 'blobs'],
    ['/blobs/uploads', { blobs: [] }, 'blobs'],
    ['/blobs/uploads', { blobs: Array(1001).fill({}) }, 'blobs'],
    ['/blobs/uploads', { blobs: [{ key: 'x', size_bytes: 1 }] }, 'blobs.0.key'],
    [
      '/blobs/uploads',
      { blobs: [{ key: `sandbox-files/sha256/${'a'.repeat(64)}`, size_bytes: -1 }] },
      'blobs.0.size_bytes',
    ],
    [
      '/blobs/uploads',
      { blobs: [{ key: `sandbox-files/sha256/${'a'.repeat(64)}`, size_bytes: 0.5 }] },
      'blobs.0.size_bytes',
    ],
    ['/blobs/downloads', { keys: 'x' }, 'keys'],
    ['/blobs/downloads', { keys: [1] }, 'keys.0'],
    ['/blobs/delete', { keys: [`sandbox-files/sha256/${'A'.repeat(64)}`] }, 'keys.0'],
    ['/blobs/list', {}, 'prefix'],
    ['/uploads', { size_bytes: 0, sha256: 'a'.repeat(64) }, 'size_bytes'],
    ['/uploads', { size_bytes: 268_435_457, sha256: 'a'.repeat(64) }, 'size_bytes'],
    ['/uploads', { size_bytes: 1, sha256: 'A'.repeat(64) }, 'sha256'],
    ['/uploads', { size_bytes: 1, sha256: 'a'.repeat(63) }, 'sha256'],
  ])('of %s is refused with %j, naming %s', async (route, body, field) => {
    const answer = await call(handler, { path: BASE + route, body })
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field })
    expect(errorOf(answer).message).toContain(field)
  })

  it('leaves the fields of the contract to the contract', async () => {
    for (const id of [undefined, null, 5, '', '\ud800', {}, ['t'], true]) {
      const answer = await call(handler, { path: GET, body: { id } })
      expect(answer.status).toBe(400)
      expect(errorOf(answer).code).toBe('SANDBOX_SNAPSHOT_INVALID_ID')
    }
  })
})

describe('a GET', () => {
  it('needs no content type, and its body is ignored', async () => {
    const { createServiceHandler: createKeysHandler } = await import('../../lambdas/keys/handler.ts')
    const keys = createKeysHandler({
      create: async () => Promise.reject(new Error('not asked')),
      list: async () => [],
      revoke: async () => undefined,
    })
    for (const body of [null, '', 'no JSON', '{"a":1}']) {
      const answer = await call(keys, {
        method: 'GET',
        path: '/sandbox/keys/v1',
        body,
        headers: { 'content-type': undefined },
      })
      expect(answer).toMatchObject({ status: 200, body: { keys: [] } })
    }
  })
})

describe('services of fixed fields', () => {
  const handlerOfInstances = createInstancesHandler(() => createMemoryInstanceStore())

  it.each([
    ['no body', null, 'body'],
    ['a broken body', '{', 'body'],
    ['invalid UTF-8', Buffer.from([0xff]), 'body'],
    ['a key that would reach a prototype', '{"key":"k","__proto__":{"a":1}}', 'body'],
    ['an unknown field', { key: 'k', more: 1 }, 'more'],
    ['a wrong type', { key: 1 }, 'key'],
  ])('refuse %s', async (_what, body, field) => {
    const answer = await call(handlerOfInstances, { path: '/sandbox/instances/v1/get', body })
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: 'invalid_input', field })
  })

  it('refuse a nesting that would overflow the stack', async () => {
    const body = `{"key":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
    const answer = await call(handlerOfInstances, { path: '/sandbox/instances/v1/get', body })
    expect(answer.status).toBe(400)
  })

  it('refuse a large body without naming another way', async () => {
    const answer = await call(handlerOfInstances, { path: '/sandbox/instances/v1/get', body: ' '.repeat(4_194_305) })
    expect(answer.status).toBe(413)
    expect(errorOf(answer)).not.toHaveProperty('upload')
  })
})

describe('failures of our own', () => {
  it('are 500 without details, and logged as one line', async () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    getHead = async () => Promise.reject(new Error('secret detail'))
    const answer = await call(handler, head)
    expect(answer.status).toBe(500)
    expect(errorOf(answer).code).toBe('internal_error')
    expect(JSON.stringify(answer)).not.toContain('secret')
    expect(error).toHaveBeenCalledTimes(1)
    const line = String(error.mock.calls[0]?.[0])
    expect(line).not.toContain('\n')
    expect(JSON.parse(line)).toMatchObject({
      level: 'ERROR',
      request_id: 'request-1',
      route: `POST ${HEAD}`,
      error: { name: 'Error', message: 'secret detail' },
    })
  })

  it.each([
    ['of a store', new UnavailableError('busy')],
    ['of the SDK: throttling', Object.assign(new Error('slow'), { name: 'ThrottlingException' })],
    ['of the SDK: a timeout', Object.assign(new Error('late'), { name: 'TimeoutError' })],
    ['of the SDK: a 5xx', Object.assign(new Error('down'), { $metadata: { httpStatusCode: 503 } })],
    ['of the network', Object.assign(new Error('reset'), { code: 'ECONNRESET' })],
  ])('that pass are 503 with retry-after, and logged: %s', async (_what, failure) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    getHead = async () => Promise.reject(failure)
    const answer = await call(handler, head)
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(errorOf(answer).code).toBe('unavailable')
    expect(JSON.parse(String(warn.mock.calls[0]?.[0]))).toMatchObject({ level: 'WARN', request_id: 'request-1' })
  })

  it('are 500 for other errors of the SDK', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    getHead = async () =>
      Promise.reject(
        Object.assign(new Error('no'), { name: 'ValidationException', $metadata: { httpStatusCode: 400 } }),
      )
    expect((await call(handler, head)).status).toBe(500)
  })
})

it('answers requests of one container one after the other and at once', async () => {
  const answers = await Promise.all(
    ['a', 'b', 'c'].map((tenant) =>
      handler(proxyEvent({ ...head, headers: { 'X-Sandbox-Tenant-Id': tenant } }), lambdaContext),
    ),
  )
  expect(answers.map(({ statusCode }) => statusCode)).toStrictEqual([200, 200, 200])
  expect(scopes.map((scope) => (scope as { tenant: string }).tenant).sort()).toStrictEqual(['a', 'b', 'c'])
})
