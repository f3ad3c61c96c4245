import type { APIGatewayProxyEvent } from 'aws-lambda'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { BASE, ROUTES } from '../../lambdas/checkpoints/routes.ts'
import type { ApiHandler } from '../../lambdas/shared/api.ts'
import { UnavailableError } from '../../src/errors.ts'
import { ROLES } from '../../src/keys/types.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { call, errorOf, lambdaContext, proxyEvent } from './support/events.ts'
import { head, recordingHandler } from './support/recording.ts'

let handler: ApiHandler
let scopes: Scope[]
beforeEach(() => {
  ;({ handler, scopes } = recordingHandler())
})
afterEach(() => {
  vi.restoreAllMocks()
})

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

  const rights = ROUTES.map(({ method, path, role }) => [`${method} ${path}`, role, method, path] as const)
  it.each(rights)('of %s begin at %s', async (_route, least, method, path) => {
    for (const role of ROLES) {
      const answer = await call(handler, { method, path, role, body: 'no JSON', query: { unknown: ['x'] } })
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

describe('failures of our own', () => {
  it('are 500 without details, and logged as one line', async () => {
    const error = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const failing = recordingHandler(async () => Promise.reject(new Error('secret detail')))
    const answer = await call(failing.handler, head)
    expect(answer.status).toBe(500)
    expect(errorOf(answer).code).toBe('internal_error')
    expect(JSON.stringify(answer)).not.toContain('secret')
    expect(error).toHaveBeenCalledTimes(1)
    const line = String(error.mock.calls[0]?.[0]).trimEnd()
    expect(line).not.toContain('\n')
    expect(JSON.parse(line)).toMatchObject({
      level: 'ERROR',
      request_id: 'request-1',
      route: `POST ${head.path}`,
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
    const warn = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const failing = recordingHandler(async () => Promise.reject(failure))
    const answer = await call(failing.handler, head)
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(errorOf(answer).code).toBe('unavailable')
    expect(JSON.parse(String(warn.mock.calls[0]?.[0]))).toMatchObject({ level: 'WARN', request_id: 'request-1' })
  })

  it('are 500 for other errors of the SDK', async () => {
    vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const refused = Object.assign(new Error('no'), { name: 'ValidationException', $metadata: { httpStatusCode: 400 } })
    const failing = recordingHandler(async () => Promise.reject(refused))
    expect((await call(failing.handler, head)).status).toBe(500)
  })
})

it('answers requests of one container one after the other and at once', async () => {
  const answers = await Promise.all(
    ['a', 'b', 'c'].map((tenant) =>
      handler(proxyEvent({ ...head, headers: { 'X-Sandbox-Tenant-Id': tenant } }), lambdaContext),
    ),
  )
  expect(answers.map(({ statusCode }) => statusCode)).toStrictEqual([200, 200, 200])
  expect(scopes.map((scope) => scope.tenant).sort()).toStrictEqual(['a', 'b', 'c'])
})
