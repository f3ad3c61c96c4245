import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { BASE } from '../../lambdas/checkpoints/routes.ts'
import { startTestApi, type TestApi } from './support/api.ts'
import { checkpoint } from './support/checkpoint.ts'

let api: TestApi
let post: (route: string, body: object | string) => Promise<{ status: number; body: unknown }>
let apiKey: string
beforeAll(async () => {
  api = await startTestApi()
  apiKey = await api.createKey('project_admin')
})
afterAll(() => api.stop())
beforeEach(() => {
  const scope = api.engines.freshScope()
  post = poster(scope.tenant)
})

function poster(tenant: string) {
  return async (route: string, body: object | string) => {
    const response = await api.fetch(api.url + BASE + route, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': apiKey,
        'x-sandbox-tenant-id': tenant,
        'x-sandbox-project-id': 'project',
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }
}

interface Writer {
  thread_id: string
  owner_token: string
  fence: number
}

async function acquire(thread: string): Promise<Writer> {
  const { body } = await post('/writers/acquire', { thread_id: thread })
  const { thread_id, owner_token, fence } = body as Writer
  return { thread_id, owner_token, fence }
}

async function append(id: string, thread: string, writer: Writer, parent: string | null = null) {
  return post('/append', {
    checkpoint: checkpoint(id, thread, { parentCheckpointId: parent }),
    expected_head_id: parent,
    writer,
  })
}

const refusal = (status: number, code: string) => ({
  status,
  body: { error: { code: `SANDBOX_SNAPSHOT_${code}`, message: expect.any(String) } },
})

describe('leases', () => {
  it('are acquired with the head, renewed and released', async () => {
    const taken = await post('/writers/acquire', { thread_id: 't', owner_token: 'mine' })
    expect(taken).toStrictEqual({
      status: 200,
      body: {
        thread_id: 't',
        owner_token: 'mine',
        fence: 1,
        expires_at: expect.any(Number),
        renew_after_ms: 45_000,
        head_id: null,
      },
    })
    const writer = { thread_id: 't', owner_token: 'mine', fence: 1 }
    expect(await post('/writers/renew', { writer })).toStrictEqual({
      status: 200,
      body: { expires_at: expect.any(Number) },
    })
    expect(await post('/writers/release', { writer })).toStrictEqual({ status: 204, body: undefined })
    expect(await post('/writers/release', { writer })).toStrictEqual({ status: 204, body: undefined })
    expect(await post('/writers/renew', { writer })).toMatchObject(refusal(409, 'WRITER_LOST'))
  })

  it('are refused while another is live, and given again to its own token', async () => {
    const writer = await acquire('t')
    expect(await post('/writers/acquire', { thread_id: 't' })).toMatchObject(refusal(409, 'WRITER_CONFLICT'))
    const again = await post('/writers/acquire', { thread_id: 't', owner_token: writer.owner_token })
    expect(again).toMatchObject({ status: 200, body: writer })
  })
})

describe('append', () => {
  it('makes the head, which get, head and list then show', async () => {
    const writer = await acquire('t')
    expect(await append('a', 't', writer)).toStrictEqual({ status: 200, body: { head_id: 'a' } })
    expect(await append('b', 't', writer, 'a')).toStrictEqual({ status: 200, body: { head_id: 'b' } })
    expect(await post('/head', { thread_id: 't' })).toStrictEqual({ status: 200, body: { head_id: 'b' } })
    expect(await post('/get', { id: 'a' })).toStrictEqual({ status: 200, body: { checkpoint: checkpoint('a', 't') } })
    expect(await post('/list', { thread_id: 't' })).toStrictEqual({
      status: 200,
      body: { checkpoints: [checkpoint('a', 't'), checkpoint('b', 't', { parentCheckpointId: 'a' })], next_page: null },
    })
    expect((await post('/writers/acquire', { thread_id: 't', owner_token: writer.owner_token })).body).toMatchObject({
      head_id: 'b',
    })
  })

  it('answers a repeat with the same request token as it did at first', async () => {
    const writer = await acquire('t')
    const body = { checkpoint: checkpoint('a', 't'), expected_head_id: null, writer, request_token: 'once' }
    expect((await post('/append', body)).status).toBe(200)
    expect(await post('/append', body)).toStrictEqual({ status: 200, body: { head_id: 'a' } })
    expect(await post('/append', { ...body, request_token: 'twice' })).toMatchObject(refusal(409, 'DUPLICATE_ID'))
  })

  it('keeps what it does not know, to the letter', async () => {
    const writer = await acquire('t')
    const document =
      '{"id":"a","threadId":"t","parentCheckpointId":null,"createdAt":-0,"reason":"named","label":"\\ud800",' +
      '"files":[],"artifacts":[],"conversation":[{"__proto__":{"x":1},"constructor":{"prototype":2},"n":1e21}],"more":{"__proto__":null}}'
    const sent = `{"checkpoint":${document},"expected_head_id":null,"writer":${JSON.stringify(writer)}}`
    expect((await post('/append', sent)).status).toBe(200)
    const { body } = await post('/get', { id: 'a' })
    const kept = (body as { checkpoint: { createdAt: number; conversation: object[] } }).checkpoint
    // As text: own keys of these names mislead comparisons of objects.
    expect(JSON.stringify(kept)).toBe(JSON.stringify(JSON.parse(document)))
    expect(Object.is(kept.createdAt, -0)).toBe(true)
    expect(Object.keys(kept.conversation[0] ?? {})).toStrictEqual(['__proto__', 'constructor', 'n'])
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })

  it.each([
    ['a head that is not', { expected_head_id: 'z' }, 'STALE_HEAD', 409],
    [
      'a parent that is not the head',
      { checkpoint: checkpoint('b', 't', { parentCheckpointId: 'z' }) },
      'PARENT_MISMATCH',
      409,
    ],
    ['a used id', { checkpoint: checkpoint('a', 't') }, 'DUPLICATE_ID', 409],
    ['a writer of another thread', { writer: { thread_id: 'u', owner_token: 'x', fence: 1 } }, 'WRITER_LOST', 409],
    ['no writer at all', { writer: { thread_id: 't' } }, 'WRITER_LOST', 409],
    ['an empty writer', { writer: {} }, 'INVALID_ID', 400],
    ['a fence that is text', { fence: '1' }, 'WRITER_LOST', 409],
    ['a fence that is an object', { fence: {} }, 'WRITER_LOST', 409],
    ['a token that is a number', { owner_token: 5 }, 'WRITER_LOST', 409],
    ['no expected head', { expected_head_id: undefined }, 'INVALID_ID', 400],
    ['an expected head that is a number', { expected_head_id: 5 }, 'INVALID_ID', 400],
    ['half a surrogate', { checkpoint: checkpoint('\ud800', 't') }, 'INVALID_ID', 400],
    ['no checkpoint', { checkpoint: undefined }, 'INVALID_ID', 400],
    ['a checkpoint that is text', { checkpoint: 'x' }, 'INVALID_ID', 400],
    ['a checkpoint that is null', { checkpoint: null }, 'INVALID_ID', 400],
    ['files that are none', { checkpoint: { ...checkpoint('b', 't'), files: 1 } }, 'INVALID_ENTRY', 400],
    ['an infinite createdAt', { checkpoint: { ...checkpoint('b', 't'), createdAt: '1e400' } }, 'INVALID_ENTRY', 400],
  ])('refuses %s', async (_what, change, code, status) => {
    const writer = await acquire('t')
    await append('a', 't', writer)
    const { fence = writer.fence, owner_token = writer.owner_token, ...rest } = change as Record<string, unknown>
    const body = {
      checkpoint: checkpoint('b', 't', { parentCheckpointId: 'a' }),
      expected_head_id: 'a',
      writer: { ...writer, fence, owner_token },
      ...rest,
    }
    expect(await post('/append', JSON.stringify(body).replace('"1e400"', '1e400'))).toMatchObject(refusal(status, code))
    expect((await post('/head', { thread_id: 't' })).body).toStrictEqual({ head_id: 'a' })
  })

  it('takes a checkpoint that nests 1,000 deep, and refuses a deeper one', async () => {
    const writer = await acquire('t')
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
    const sent = JSON.stringify({ checkpoint: checkpoint('a', 't'), expected_head_id: null, writer })
    const append = (depth: number) =>
      post('/append', sent.replace('"conversation":[]', `"conversation":${nested(depth)}`))
    expect(await append(1_023)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_input', field: 'body' } },
    })
    expect(await append(1_002)).toMatchObject(refusal(400, 'INVALID_ENTRY'))
    expect(await append(998)).toMatchObject({ status: 200 })
  })
})

describe('removal and forks', () => {
  it('delete-head removes the head only', async () => {
    const writer = await acquire('t')
    await append('a', 't', writer)
    await append('b', 't', writer, 'a')
    expect(await post('/delete-head', { thread_id: 't', checkpoint_id: 'a', writer })).toMatchObject(
      refusal(409, 'NOT_HEAD'),
    )
    const gone = await post('/delete-head', { thread_id: 't', checkpoint_id: 'b', writer, request_token: 'r' })
    expect(gone).toStrictEqual({ status: 204, body: undefined })
    expect(
      (await post('/delete-head', { thread_id: 't', checkpoint_id: 'b', writer, request_token: 'r' })).status,
    ).toBe(204)
    expect((await post('/head', { thread_id: 't' })).body).toStrictEqual({ head_id: 'a' })
  })

  it('prune keeps as many as asked', async () => {
    const writer = await acquire('t')
    await append('a', 't', writer)
    await append('b', 't', writer, 'a')
    for (const keep of [undefined, 0, 1.5, '1', null]) {
      expect(await post('/prune', { thread_id: 't', keep, writer })).toMatchObject(refusal(400, 'INVALID_ENTRY'))
    }
    expect(await post('/prune', { thread_id: 't', keep: 1, writer })).toStrictEqual({
      status: 200,
      body: { deleted: ['a'] },
    })
    expect((await post('/get', { id: 'a' })).body).toStrictEqual({ checkpoint: null })
  })

  it('fork makes a root of another thread', async () => {
    const writer = await acquire('t')
    await append('a', 't', writer)
    const body = {
      source_thread_id: 't',
      source_checkpoint_id: 'a',
      destination_thread_id: 'u',
      destination_checkpoint_id: 'f',
      created_at: 5,
      writer: await acquire('u'),
    }
    expect(await post('/fork', { ...body, source_checkpoint_id: 'z' })).toMatchObject(
      refusal(404, 'FORK_SOURCE_NOT_FOUND'),
    )
    expect(await post('/fork', { ...body, source_thread_id: 'v' })).toMatchObject(
      refusal(409, 'FORK_SOURCE_THREAD_MISMATCH'),
    )
    expect(await post('/fork', { ...body, created_at: null })).toMatchObject(refusal(400, 'INVALID_ENTRY'))
    expect(await post('/fork', body)).toStrictEqual({
      status: 200,
      body: { checkpoint: checkpoint('f', 'u', { createdAt: 5, reason: 'fork-root' }) },
    })
    expect(await post('/fork', { ...body, destination_checkpoint_id: 'g' })).toMatchObject(
      refusal(409, 'FORK_DESTINATION_NOT_EMPTY'),
    )
  })

  it('references count the checkpoints that use a key', async () => {
    const key = `sandbox-files/sha256/${'a'.repeat(64)}`
    const writer = await acquire('t')
    const files = [{ path: 'x', kind: 'file' as const, blobKey: key, size: 1 }]
    await post('/append', { checkpoint: checkpoint('a', 't', { files }), expected_head_id: null, writer })
    expect(await post('/references', {})).toStrictEqual({ status: 200, body: { references: [{ key, references: 1 }] } })
  })
})

describe('pages of a list', () => {
  const conversation = ['x'.repeat(1_300_000)]
  async function fill(ids: string[]): Promise<Writer> {
    const writer = await acquire('t')
    let parent: string | null = null
    for (const id of ids) {
      const document = checkpoint(id, 't', { parentCheckpointId: parent, conversation })
      await post('/append', { checkpoint: document, expected_head_id: parent, writer })
      parent = id
    }
    return writer
  }
  type Page = { checkpoints: Array<{ id: string }>; next_page: string | null }
  const list = async (page?: string | null) => (await post('/list', { thread_id: 't', page })).body as Page

  it('hold what fits, in the order of appending', async () => {
    await fill(['b', 'a', 'c'])
    const first = await list()
    expect(first.checkpoints.map(({ id }) => id)).toStrictEqual(['b', 'a'])
    const second = await list(first.next_page)
    expect(second.checkpoints.map(({ id }) => id)).toStrictEqual(['c'])
    expect(second.next_page).toBeNull()
  })

  it('expire when the thread changes', async () => {
    const writer = await fill(['a', 'b', 'c'])
    const { next_page } = await list()
    await append('d', 't', writer, 'c')
    for (const page of [next_page, 'made-up', '']) {
      expect(await post('/list', { thread_id: 't', page })).toMatchObject({
        status: 409,
        body: { error: { code: 'page_expired', field: 'page' } },
      })
    }
  })
})

it('shows nothing of one scope to another', async () => {
  const writer = await acquire('t')
  await append('a', 't', writer)
  const other = poster(api.engines.freshScope().tenant)
  expect((await other('/get', { id: 'a' })).body).toStrictEqual({ checkpoint: null })
  expect((await other('/head', { thread_id: 't' })).body).toStrictEqual({ head_id: null })
  expect((await other('/list', { thread_id: 't' })).body).toStrictEqual({ checkpoints: [], next_page: null })
  expect(await other('/delete-head', { thread_id: 't', checkpoint_id: 'a', writer })).toMatchObject(
    refusal(409, 'WRITER_LOST'),
  )
})
