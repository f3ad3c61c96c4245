import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SandkeepHttpError, SandkeepNetworkError } from '../../client/index.ts'
import {
  SandboxCheckpointConflictError,
  SandboxCheckpointError,
  SandboxCheckpointWriterLostError,
} from '../../src/checkpoints/errors.ts'
import { checkpoint } from '../http/support/checkpoint.ts'
import { answer, networkFailure, refusal, type Step, scripted } from './support.ts'

const writer = { threadId: 't', ownerToken: 'o', fence: 1 }

// Backoff and time limits pass at once.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  vi.spyOn(Math, 'random').mockReturnValue(0)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Settles the promise while timers are run. */
async function settle<T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> {
  let done = false
  const settled = Promise.allSettled([promise]).then(([result]) => {
    done = true
    return result
  })
  while (!done) await vi.advanceTimersToNextTimerAsync()
  return settled
}

/** The promise, whose failure is no unhandled one until it is looked at. */
function settledLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  const result = await settle(promise)
  if (result.status === 'fulfilled') throw new Error('It was expected to fail.')
  return result.reason
}

describe('a request', () => {
  it('carries key, tenancy and JSON to the route below the url', async () => {
    const { client, sent } = scripted([answer({ head_id: 'a' })])
    expect(await client.checkpoints.getHead('t')).toBe('a')
    const [request] = sent
    expect(request).toMatchObject({ method: 'POST', url: 'http://api.test/api/sandbox/checkpoints/v1/head' })
    expect(JSON.parse(request?.body ?? '')).toStrictEqual({ thread_id: 't' })
    expect(Object.fromEntries(request?.headers ?? [])).toStrictEqual({
      'content-type': 'application/json',
      'x-api-key': 'key',
      'x-sandbox-tenant-id': 'acme',
      'x-sandbox-project-id': 'web',
    })
  })

  it('does not follow other redirects, which would take the key elsewhere', async () => {
    const { client, sent } = scripted([new Response(null, { status: 307, headers: { location: 'http://evil.test/' } })])
    expect(await failureOf(client.checkpoints.getHead('t'))).toMatchObject({ status: 307, code: 'http_307' })
    expect(sent.map(({ redirect }) => redirect)).toStrictEqual(['manual'])
  })

  it('follows the redirect of a large answer without headers of its own', async () => {
    const { client, sent } = scripted([
      answer({ location: 'x', size_bytes: 1 }, 303, { location: 'http://s3.test/bucket/answer?signature' }),
      answer({ checkpoint: checkpoint('a', 't') }),
    ])
    expect(await client.checkpoints.get('a')).toStrictEqual(checkpoint('a', 't'))
    expect(sent[1]).toMatchObject({ method: 'GET', url: 'http://s3.test/bucket/answer?signature' })
    expect([...(sent[1]?.headers ?? [])]).toStrictEqual([])
  })

  it('asks anew when the redirect leads nowhere', async () => {
    const redirect = () => answer({}, 303, { location: 'http://s3.test/x' })
    const { client, sent } = scripted([
      redirect(),
      new Response('', { status: 503 }),
      redirect(),
      answer({ checkpoint: null }),
    ])
    expect(await settle(client.checkpoints.get('a'))).toMatchObject({ value: null })
    expect(sent.map(({ url }) => new URL(url).host)).toStrictEqual(['api.test', 's3.test', 'api.test', 's3.test'])
  })
})

describe('what passes is tried again', () => {
  it.each<[string, Step]>([
    ['429', refusal(429, 'too_many_requests')],
    ['502', refusal(502, 'unavailable')],
    ['503', refusal(503, 'unavailable')],
    ['504', refusal(504, 'timeout')],
    ['a broken connection', networkFailure('ECONNRESET')],
    ['a refused connection', networkFailure('ECONNREFUSED')],
  ])('%s', async (_what, step) => {
    const { client, sent } = scripted([step, answer({ head_id: 'a' })])
    expect(await settle(client.checkpoints.getHead('t'))).toMatchObject({ status: 'fulfilled', value: 'a' })
    expect(sent).toHaveLength(2)
  })

  it.each([400, 401, 403, 404, 405, 409, 413, 415, 500])('and %d is not', async (status) => {
    const { client, sent } = scripted([refusal(status, 'some_code')])
    const failure = await failureOf(client.checkpoints.getHead('t'))
    expect(failure).toBeInstanceOf(SandkeepHttpError)
    expect(failure).toMatchObject({ status, code: 'some_code', requestId: 'request-1' })
    expect(sent).toHaveLength(1)
  })

  it('at most four times more', async () => {
    const { client, sent } = scripted(Array.from({ length: 5 }, () => networkFailure('ECONNRESET')))
    const failure = await failureOf(client.checkpoints.getHead('t'))
    expect(failure).toBeInstanceOf(SandkeepNetworkError)
    expect(sent).toHaveLength(5)
  })

  it('not before retry-after is over', async () => {
    const { client, sent } = scripted([refusal(503, 'unavailable', { 'retry-after': '7' }), answer({ head_id: null })])
    const head = client.checkpoints.getHead('t')
    await vi.advanceTimersByTimeAsync(6_999)
    expect(sent).toHaveLength(1)
    expect(await settle(head)).toMatchObject({ status: 'fulfilled' })
    expect(sent).toHaveLength(2)
  })

  it('with the same request token, so that a lost answer does no harm', async () => {
    const { client, sent } = scripted([networkFailure('ECONNRESET'), answer({ head_id: 'a' })])
    const input = { checkpoint: checkpoint('a', 't'), expectedHeadId: null, writer }
    expect(await settle(client.checkpoints.append(input))).toMatchObject({ value: { headId: 'a' } })
    expect(sent[0]?.body).toBe(sent[1]?.body)
    expect(JSON.parse(sent[0]?.body ?? '').request_token).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('with the same owner token when a lease is taken', async () => {
    const lease = { thread_id: 't', owner_token: 'x', fence: 1, expires_at: 5, renew_after_ms: 1, head_id: 'h' }
    const { client, sent } = scripted([refusal(504, 'timeout'), answer(lease)])
    expect(await settle(client.checkpoints.acquireWriter('t'))).toMatchObject({ value: { headId: 'h' } })
    expect(sent[0]?.body).toBe(sent[1]?.body)
  })
})

describe('what may not be carried out twice', () => {
  const prune = (steps: Step[]) => {
    const { client, sent } = scripted(steps)
    return { sent, done: settle(client.checkpoints.deleteCheckpoints({ threadId: 't', keep: 1, writer })) }
  }

  it.each<[string, Step]>([
    ['a broken connection', networkFailure('ECONNRESET')],
    ['502', refusal(502, 'unavailable')],
    ['503', refusal(503, 'unavailable')],
    ['504', refusal(504, 'timeout')],
  ])('is not tried again after %s', async (_what, step) => {
    const { sent, done } = prune([step])
    expect(await done).toMatchObject({ status: 'rejected' })
    expect(sent).toHaveLength(1)
  })

  it.each<[string, Step]>([
    ['a refused connection', networkFailure('ECONNREFUSED')],
    ['an unknown host', networkFailure('ENOTFOUND')],
    ['429', refusal(429, 'too_many_requests')],
  ])('is tried again after %s, which nothing came of', async (_what, step) => {
    const { sent, done } = prune([step, answer({ deleted: ['a'] })])
    expect(await done).toMatchObject({ value: { deleted: ['a'] } })
    expect(sent).toHaveLength(2)
  })

  it('holds for a new API key', async () => {
    const { client, sent } = scripted([refusal(504, 'timeout')])
    const bindings = [{ tenant: '*', project: '*' }]
    expect(await failureOf(client.keys.create({ name: 'n', role: 'viewer', bindings }))).toMatchObject({ status: 504 })
    expect(sent).toHaveLength(1)
  })
})

describe('an error', () => {
  it('of the contract has its class', async () => {
    const { client } = scripted([
      refusal(409, 'SANDBOX_SNAPSHOT_STALE_HEAD'),
      refusal(409, 'SANDBOX_SNAPSHOT_WRITER_LOST'),
      refusal(404, 'SANDBOX_SNAPSHOT_FORK_SOURCE_NOT_FOUND'),
    ])
    expect(await failureOf(client.checkpoints.getHead('t'))).toBeInstanceOf(SandboxCheckpointConflictError)
    expect(await failureOf(client.checkpoints.getHead('t'))).toBeInstanceOf(SandboxCheckpointWriterLostError)
    const source = await failureOf(client.checkpoints.getHead('t'))
    expect(source).toBeInstanceOf(SandboxCheckpointError)
    expect(source).toMatchObject({ code: 'SANDBOX_SNAPSHOT_FORK_SOURCE_NOT_FOUND' })
  })

  it('tells field, request id and retry-after', async () => {
    const { client } = scripted([
      answer({ error: { code: 'invalid_input', message: 'm', field: 'page' } }, 400, {
        'x-request-id': 'r',
        'retry-after': '3',
      }),
    ])
    expect(await failureOf(client.checkpoints.getHead('t'))).toMatchObject({
      name: 'SandkeepHttpError',
      status: 400,
      code: 'invalid_input',
      message: 'm',
      field: 'page',
      requestId: 'r',
      retryAfter: 3,
    })
  })

  it.each([
    ['a page of a proxy', new Response('<html>', { status: 404 }), { status: 404, code: 'http_404' }],
    ['an error of another shape', answer({ message: 'Forbidden' }, 403), { status: 403, code: 'http_403' }],
    ['a success of another server', new Response('<html>'), { status: 200, code: 'invalid_answer' }],
    ['JSON of another server', answer({ ok: true }), { status: 200, code: 'invalid_answer' }],
    ['an empty success', new Response(''), { code: 'invalid_answer' }],
    ['a redirect without a place', new Response('', { status: 303 }), { status: 303, code: 'invalid_answer' }],
  ])('is made of %s', async (_what, response, expected) => {
    const { client } = scripted([response])
    expect(await failureOf(client.checkpoints.getHead('t'))).toMatchObject(expected)
  })

  it('of the network names the host and what to check, and keeps its cause', async () => {
    const cause = networkFailure('ECONNREFUSED')
    const { client } = scripted(Array.from({ length: 5 }, () => cause))
    const failure = await failureOf(client.checkpoints.getHead('t'))
    expect(failure).toMatchObject({ name: 'SandkeepNetworkError', code: 'network_error', cause, sent: false })
    expect((failure as Error).message).toMatch(/api\.test.*ECONNREFUSED.*[Cc]heck/)
  })
})

describe('time', () => {
  const hanging: Step = (request) =>
    new Promise((_resolve, reject) => {
      request.signal.addEventListener('abort', () => reject(request.signal.reason))
    })

  it('ends a request that is not answered, once', async () => {
    const { client, sent } = scripted([hanging], { timeoutMs: 1_000 })
    const failure = await failureOf(client.checkpoints.getHead('t'))
    expect(failure).toBeInstanceOf(SandkeepNetworkError)
    expect((failure as Error).message).toContain('1000 ms')
    expect(sent).toHaveLength(1)
  })

  it('is the caller’s to end: what runs', async () => {
    const controller = new AbortController()
    const { client } = scripted([hanging], { signal: controller.signal })
    const head = settledLater(client.checkpoints.getHead('t'))
    await vi.advanceTimersByTimeAsync(10)
    controller.abort(new Error('enough'))
    expect(await failureOf(head)).toMatchObject({ message: 'enough' })
  })

  it('is the caller’s to end: what waits to be tried again', async () => {
    const controller = new AbortController()
    const { client, sent } = scripted([refusal(503, 'unavailable', { 'retry-after': '20' })], {
      signal: controller.signal,
    })
    const head = settledLater(client.checkpoints.getHead('t'))
    await vi.advanceTimersByTimeAsync(10)
    controller.abort(new Error('enough'))
    expect(await failureOf(head)).toMatchObject({ message: 'enough' })
    expect(sent).toHaveLength(1)
  })

  it('is the caller’s to end: what has not begun', async () => {
    const { client, sent } = scripted([], { signal: AbortSignal.abort(new Error('enough')) })
    expect(await failureOf(client.checkpoints.getHead('t'))).toMatchObject({ message: 'enough' })
    expect(sent).toHaveLength(0)
  })
})
