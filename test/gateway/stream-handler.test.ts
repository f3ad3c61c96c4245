import { once } from 'node:events'
import http from 'node:http'
import { Readable } from 'node:stream'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import { beforeEach, expect, type MockInstance, test, vi } from 'vitest'
import * as z from 'zod'
import { action } from '../../lambdas/shared/action.ts'
import { json } from '../../lambdas/shared/answer.ts'
import { bodyText } from '../../lambdas/shared/body-text.ts'
import { fixedJson } from '../../lambdas/shared/fixed-json.ts'
import * as logging from '../../lambdas/shared/log.ts'
import type { StreamCall } from '../../lambdas/shared/request.ts'
import { createStreamHandler, type StreamAction, type StreamAnswer } from '../../lambdas/shared/stream.ts'
import { FunctionStream } from '../../local/gateway/function-stream.ts'
import type { LambdaStreamHandler } from '../../local/gateway/index.ts'
import { ConflictError } from '../../src/errors.ts'
import { lambdaContext, proxyEvent } from '../http/support/events.ts'
import { policy, post, testGateway } from './harness.ts'
import { runOnLambda } from './lambda-runtime.ts'
import { STREAM_PATH, streamTemplate } from './stream-harness.ts'

let log: MockInstance<typeof logging.log>

/** What was logged beside the line of each request. */
const failuresLogged = () => log.mock.calls.filter(([level]) => level !== 'INFO')

beforeEach(() => {
  log = vi.spyOn(logging, 'log').mockReturnValue(undefined)
})

const route = { method: 'POST', path: STREAM_PATH, role: 'writer', permission: 'sandbox-memory#read' } as const
const text = { 'content-type': 'text/plain' }

function handlerOf(run: StreamAction) {
  return createStreamHandler({ routes: [{ ...route, action: 'run' }], actions: { run }, body: [] })
}

function event(input: Partial<Parameters<typeof proxyEvent>[0]> = {}): APIGatewayProxyEvent {
  return proxyEvent({ path: STREAM_PATH, ...input })
}

function answering(body: StreamAnswer['body']): StreamAction {
  return async () => ({ statusCode: 200, headers: text, body })
}

async function* failing(...pieces: string[]): AsyncGenerator<string> {
  yield* pieces
  throw new Error('The secret of the table.')
}

/** A stream of which each piece is taken only when the test says so. */
function slowStream() {
  const taken: string[] = []
  let done: () => void = () => undefined
  const stream = new FunctionStream({
    head: () => undefined,
    piece(piece, next) {
      taken.push(String(piece))
      done = next
    },
    end: () => undefined,
  })
  return { stream, taken, take: () => done() }
}

test('an answer is its head, eight NUL bytes, and its body', async () => {
  const received = await runOnLambda(handlerOf(answering(Readable.from(['one ', 'two ', 'drei€']))), event())
  expect(received).toMatchObject({
    contentType: 'application/vnd.awslambda.http-integration-response',
    head: { statusCode: 200, headers: { ...text, 'x-request-id': 'request-1', 'X-Content-Type-Options': 'nosniff' } },
    failure: undefined,
  })
  expect(Object.keys(received.head).sort()).toEqual(['headers', 'statusCode'])
  expect(received.body.toString()).toBe('one two drei€')
})

test.for([
  ['text', 'täxt', 'täxt'],
  ['no text', '', ''],
  ['no pieces', Readable.from([]), ''],
  ['empty pieces', Readable.from(['', 'a', '', 'b']), 'ab'],
  ['bytes', Readable.from([Buffer.from('a'), new TextEncoder().encode('b')]), 'ab'],
] as const)('a body may be %s', async ([, body, expected]) => {
  const received = await runOnLambda(handlerOf(answering(body)), event())
  expect(received.head.statusCode).toBe(200)
  expect(received.body.toString()).toBe(expected)
})

test('bytes of a class of their own arrive as bytes', async () => {
  class Own extends Uint8Array {}
  const bytes = Own.from(Buffer.from('xaby')).subarray(1, 3)
  const received = await runOnLambda(handlerOf(answering(Readable.from([bytes], { objectMode: true }))), event())
  expect(received.body.toString()).toBe('ab')
})

test('a large body arrives whole over a connection that is slower than its source', async () => {
  const piece = 'x'.repeat(1_000)
  const pieces = Array.from({ length: 20_000 }, () => piece)
  const received = await runOnLambda(handlerOf(answering(Readable.from(pieces))), event())
  expect(received.body.length).toBe(20_000_000)
  expect(received.failure).toBeUndefined()
})

test('an action gets what the middlewares found, and its answer may be one of `json`', async () => {
  const run = action(
    z.strictObject({ name: z.string() }),
    async ({ name }, { scope, principal, signal }: StreamCall) => {
      return json(201, { name, scope, by: principal.id, aborted: signal.aborted })
    },
  )
  const handler = createStreamHandler({
    routes: [{ ...route, action: 'run' }],
    actions: { run },
    body: [bodyText(), fixedJson()],
  })
  const good = await runOnLambda(handler, event({ body: { name: 'n' } }))
  expect(good.head).toMatchObject({ statusCode: 201, headers: { 'cache-control': 'no-store' } })
  expect(JSON.parse(String(good.body))).toEqual({
    name: 'n',
    scope: { tenant: 'acme', project: 'web' },
    by: 'key-1',
    aborted: false,
  })
  const bad = await runOnLambda(handler, event({ body: { name: 5 } }))
  expect(bad.head.statusCode).toBe(400)
  expect(JSON.parse(String(bad.body)).error).toMatchObject({ code: 'invalid_input', field: 'name' })
})

test.for([
  ['a role that may not', event({ role: 'viewer' }), 403, 'forbidden'],
  ['no tenant', event({ headers: { 'X-Sandbox-Tenant-Id': undefined } }), 400, 'invalid_input'],
  ['another path', event({ path: '/other' }), 404, 'not_found'],
  ['another method', event({ method: 'PUT' }), 405, 'method_not_allowed'],
  ['an event of something else', {} as APIGatewayProxyEvent, 404, 'not_found'],
] as const)('refuses %s', async ([, given, status, code]) => {
  const run = vi.fn(answering('reached'))
  const { head, body, failure } = await runOnLambda(handlerOf(run), given)
  expect(head).toMatchObject({ statusCode: status, headers: { 'content-type': 'application/json' } })
  expect(JSON.parse(String(body)).error.code).toBe(code)
  expect(failure).toBeUndefined()
  expect(run).not.toHaveBeenCalled()
})

test('what fails before the first piece is an error answer', async () => {
  const conflict = await runOnLambda(
    handlerOf(async () => {
      throw new ConflictError('taken', 'It is taken.')
    }),
    event(),
  )
  expect(conflict.head).toMatchObject({ statusCode: 409, headers: { 'x-request-id': 'request-1' } })
  const { head, body, failure } = await runOnLambda(handlerOf(answering(failing())), event())
  expect(head.statusCode).toBe(500)
  expect(JSON.parse(String(body)).error.code).toBe('internal_error')
  expect(String(body)).not.toContain('secret')
  expect(failure).toBeUndefined()
})

test('what fails later fails the function, is logged, and tells the caller nothing', async () => {
  const { head, body, failure } = await runOnLambda(handlerOf(answering(failing('half '))), event())
  expect(head.statusCode).toBe(200)
  expect(String(body)).toBe('half ')
  expect(failure).toBe('The answer broke off.')
  expect(failuresLogged()).toStrictEqual([
    [
      'ERROR',
      'The answer broke off.',
      {
        request_id: 'request-1',
        route: `POST ${STREAM_PATH}`,
        error: expect.objectContaining({ message: 'The secret of the table.' }),
      },
    ],
  ])
})

test('a piece is asked for only when there is room for it', async () => {
  let asked = 0
  const pieces = async function* () {
    for (asked = 1; asked < 100; asked += 1) yield 'x'.repeat(10_000)
  }
  const { stream, take } = slowStream()
  void handlerOf(answering(pieces()))(event(), stream, lambdaContext)
  await vi.waitFor(() => expect(stream.writableNeedDrain).toBe(true))
  const before = asked
  expect(before).toBeLessThanOrEqual(3)
  await new Promise(setImmediate)
  expect(asked).toBe(before)
  while (asked === before) {
    take()
    await new Promise(setImmediate)
  }
  expect(asked).toBeLessThanOrEqual(before + 2)
  stream.destroy()
})

test('a caller that goes away while the source waits ends the action, and is no failure', async () => {
  let signal: AbortSignal | undefined
  const returned = vi.fn(async () => ({ done: true, value: undefined }) as const)
  const first = vi.fn(async () => ({ done: false, value: 'first' }) as const)
  const run: StreamAction = async (call) => {
    signal = call.signal
    const next = () => (first.mock.calls.length === 0 ? first() : new Promise<never>(() => undefined))
    return { statusCode: 200, headers: text, body: { [Symbol.asyncIterator]: () => ({ next, return: returned }) } }
  }
  const { stream, taken, take } = slowStream()
  const running = handlerOf(run)(event(), stream, lambdaContext)
  await vi.waitFor(() => expect(taken).toEqual(['first']))
  take()
  expect(signal?.aborted).toBe(false)
  stream.destroy()
  await running
  expect(signal?.aborted).toBe(true)
  expect(returned).toHaveBeenCalledOnce()
  expect(failuresLogged()).toStrictEqual([])
})

test('a caller that goes away before the answer begins ends the action, and is no failure', async () => {
  const reached = Promise.withResolvers<void>()
  const { stream } = slowStream()
  const run: StreamAction = ({ signal }) => {
    reached.resolve()
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const running = handlerOf(run)(event(), stream, lambdaContext)
  await reached.promise
  stream.destroy()
  await running
  expect(failuresLogged()).toStrictEqual([])
})

test('the signal says nothing of an answer that is whole', async () => {
  let signal: AbortSignal | undefined
  await runOnLambda(
    handlerOf(async (call) => {
      signal = call.signal
      return { statusCode: 200, headers: text, body: Readable.from(['a', 'b']) }
    }),
    event(),
  )
  expect(signal?.aborted).toBe(false)
})

const tenancy = { 'x-sandbox-tenant-id': 'acme', 'x-sandbox-project-id': 'web' }

function gatewayOf(run: StreamAction): Promise<string> {
  const handler: LambdaStreamHandler = handlerOf(run)
  const { authorizer } = event().requestContext
  const allow = async ({ methodArn }: { methodArn: string }) => policy('Allow', methodArn, authorizer ?? {})
  return testGateway({ authorizer: allow }, { template: streamTemplate(), streamHandlers: { instances: handler } })
}

test('through the gateway: the answer, and errors before it', async () => {
  const good = await post((await gatewayOf(answering(Readable.from(['a', 'b'])))) + STREAM_PATH, '', tenancy)
  expect(good.status).toBe(200)
  expect(good.headers.get('x-content-type-options')).toBe('nosniff')
  expect(await good.text()).toBe('ab')
  const bad = await post((await gatewayOf(answering(failing()))) + STREAM_PATH, '', tenancy)
  expect(bad.status).toBe(500)
  expect(await bad.json()).toMatchObject({ error: { code: 'internal_error' } })
})

test('through the gateway: an answer that breaks off is no whole one', async () => {
  const response = await post((await gatewayOf(answering(failing('half')))) + STREAM_PATH, '', tenancy)
  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow()
})

test('through the gateway: a caller that goes away aborts the signal', async () => {
  const aborted = Promise.withResolvers<void>()
  const url = await gatewayOf(async ({ signal }) => {
    signal.addEventListener('abort', () => aborted.resolve())
    async function* pieces() {
      yield 'first'
      await new Promise(() => undefined)
    }
    return { statusCode: 200, headers: text, body: pieces() }
  })
  const request = http.request(url + STREAM_PATH, { method: 'POST', headers: { 'x-api-key': 'good', ...tenancy } })
  request.on('error', () => undefined).end()
  const [response] = await once(request, 'response')
  await once(response, 'data')
  request.destroy()
  await aborted.promise
})
