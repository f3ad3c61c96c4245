import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { apiError } from '../ai/support/anthropic-endpoint.ts'
import { bash, codeResult, messageEvents, messageJson, sse, text } from '../ai/support/messages.ts'
import { request, startWorld, streaming, UPSTREAM_KEY, type World } from './support/world.ts'

let world: World
let ids = 0
/** Ids that nothing has used yet. */
const fresh = (kind: 'container' | 'file') => {
  ids += 1
  return `${kind}_${ids}`
}

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())
beforeEach(() => {
  world.app = world.api.engines.freshScope()
  world.endpoint.replyWith()
})

const sent = () => world.endpoint.requests
const errorType = async (response: Response) => {
  const { type, error } = (await response.json()) as { type: string; error: { type: string } }
  expect(type).toBe('error')
  return error.type
}

describe('a request', () => {
  test('passes as it came, with the headers that the API reads and no others', async () => {
    const body = ` {"model":"m", "max_tokens":9007199254740993 ,"n":1.0e+3,"a":1,"a":2,"messages":[],"t":"é\\u00e9\\ud83d"}\n`
    world.endpoint.replyWith({ content: [text('hi')] })
    const betas = 'files-api-2025-04-14,code-execution-2025-08-25,skills-2025-10-02'
    const response = await world.post({}, body, {
      query: '?beta=true',
      headers: {
        'anthropic-version': '2023-01-01',
        'anthropic-beta': betas,
        'anthropic-workspace-id': 'w',
        cookie: 'c',
      },
    })
    expect(response.status).toBe(200)
    expect(sent()[0]?.bytes.toString()).toBe(body)
    expect(sent()[0]).toMatchObject({ method: 'POST', path: '/v1/messages?beta=true' })
    const { host: _, connection: _c, ...headers } = sent()[0]?.headers ?? {}
    expect(headers).toEqual({
      'x-api-key': UPSTREAM_KEY,
      'anthropic-version': '2023-01-01',
      'anthropic-beta': betas,
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    })
  })

  test.each<[string, string | Uint8Array, Record<string, string>, number, string]>([
    ['no JSON', '{', {}, 400, 'invalid_request_error'],
    ['no object', '[]', {}, 400, 'invalid_request_error'],
    ['nothing', '', {}, 400, 'invalid_request_error'],
    ['no UTF-8', new Uint8Array([0x7b, 0xff, 0x7d]), {}, 400, 'invalid_request_error'],
    ['a name twice', '{"container":"a","container":"b"}', {}, 400, 'invalid_request_error'],
    ['a scope that is none', '{}', { 'x-sandbox-scope': 'all' }, 400, 'invalid_request_error'],
    ['a blank user', '{}', { 'x-sandbox-user-id': ' ' }, 400, 'invalid_request_error'],
    ['no tenant', '{}', { 'x-sandbox-tenant-id': '' }, 400, 'invalid_request_error'],
    ['a type that is not JSON', '{}', { 'content-type': 'text/plain' }, 415, 'invalid_request_error'],
    ['too much', JSON.stringify({ a: 'x'.repeat(4_194_304) }), {}, 413, 'request_too_large'],
  ])('of %s is refused in the API’s shape, and nothing is sent', async (_what, body, headers, status, type) => {
    const response = await world.post({}, body, { headers })
    expect(response.status).toBe(status)
    expect(response.headers.get('request-id')).toBe(response.headers.get('x-request-id'))
    expect(await errorType(response)).toBe(type)
    expect(sent()).toEqual([])
  })

  test('needs a key, and the right to act for others', async () => {
    const viewer = await world.api.createKey('viewer')
    const writer = await world.api.createKey('writer')
    expect((await world.post({}, request('x'), { headers: { 'x-api-key': 'none' } })).status).toBe(401)
    const refused = await world.post({}, request('x'), { headers: { 'x-api-key': viewer } })
    expect([refused.status, await errorType(refused)]).toEqual([403, 'permission_error'])
    expect((await world.post({ user: 'u1' }, request('x'), { headers: { 'x-api-key': writer } })).status).toBe(403)
    expect(sent()).toEqual([])
  })
})

describe.each(['user', 'app'] as const)('in scope %s', (scope) => {
  test.each([true, false])('ids of an answer are the caller’s from then on (streamed: %s)', async (stream) => {
    const who = { user: 'u1', scope }
    const [container, file] = [fresh('container'), fresh('file')]
    const message = { content: bash('s1', 'x', [file]), container: { id: container } }
    world.endpoint.replyWith(message, { content: [text('hi')] })
    const first = await world.post(who, request('go', { stream }))
    const answered = await first.text()
    if (stream) {
      expect(answered).toBe(sse(messageEvents(message, 'claude-sonnet-4-5')))
      expect(first.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    } else {
      expect(JSON.parse(answered)).toEqual(messageJson(message, 'claude-sonnet-4-5'))
    }
    const second = await world.post(who, {
      model: 'm',
      container,
      messages: [
        { role: 'assistant', content: message.content },
        { role: 'user', content: [{ type: 'container_upload', file_id: file }] },
      ],
    })
    expect(second.status).toBe(200)
    expect(sent()[1]?.body.container).toBe(container)
  })
})

describe('ids are recorded before their bytes come out', () => {
  test('wherever the stream is cut', async () => {
    const message = {
      content: [text('a'), ...bash('s1', 'x', ['file_cut']), codeResult('s2', ['file_cut2'])],
      container: { id: 'container_cut' },
    }
    const bytes = Buffer.from(sse(messageEvents(message, 'm')))
    const at = (id: string) => bytes.indexOf(`"${id}"`) + id.length + 1
    const cuts = ['file_cut', 'file_cut2', 'container_cut'].flatMap((id) =>
      [-9, -2, 0, 1].map((shift) => at(id) + shift),
    )
    for (const cut of cuts) {
      const app = world.api.engines.freshScope()
      // Ids belong to one app: each round has its own.
      const name = (id: string) => `${id}_${cut}`.padEnd(20, 'x')
      let source = bytes.toString()
      for (const id of ['file_cut2', 'file_cut', 'container_cut'])
        source = source.replaceAll(`"${id}"`, `"${name(id)}"`)
      const whole = Buffer.from(source)
      world.endpoint.replyWith({
        headers: { 'content-type': 'text/event-stream' },
        body: (async function* () {
          yield whole.subarray(0, cut)
          yield whole.subarray(cut)
        })(),
      })
      const response = await world.post({ app }, streaming('go'))
      let seen = ''
      for await (const chunk of response.body ?? []) {
        seen += Buffer.from(chunk).toString()
        const shown = ['file_cut', 'file_cut2'].map(name).filter((id) => seen.includes(`"${id}"`))
        const known = await world
          .registry({ app })
          .lookUp({ containerId: name('container_cut'), fileIds: new Set(shown), scope: 'user' })
        expect([...known.files.keys()].sort()).toEqual(shown.sort())
        if (seen.includes(`"${name('container_cut')}"`)) expect(known.container).toBeDefined()
      }
      expect(seen).toBe(source)
    }
  })

  test('and an answer whose ids cannot be recorded does not come out', async () => {
    const [container, file] = [fresh('container'), fresh('file')]
    await world.registry({ app: { tenant: 'other', project: 'p' } }).addContainer(container, 'user')
    await world.registry({ app: { tenant: 'other', project: 'p' } }).addFile(file, 'user')
    for (const message of [
      { content: [text('secret')], container: { id: container } },
      { content: bash('s1', 'x', [file]) },
    ]) {
      world.endpoint.replyWith(message, message)
      const whole = await world.post({}, request('go'))
      expect([whole.status, await errorType(whole)]).toEqual([502, 'api_error'])
      const streamed = await world.post({}, streaming('go')).then(
        (response) => response.text(),
        () => '',
      )
      expect(streamed).not.toContain(container)
      expect(streamed).not.toContain(file)
    }
  })

  test('once: a second answer with the same ids writes nothing', async () => {
    const [container, file] = [fresh('container'), fresh('file')]
    const message = {
      content: bash('s1', 'x', [file, file]),
      container: { id: container },
      containerIn: 'both' as const,
    }
    world.endpoint.replyWith(message, message)
    await (await world.post({}, streaming('go'))).text()
    const calls: string[] = []
    world.api.engines.dynamodb.middlewareStack.add(
      (next, { commandName }) =>
        (args) => {
          calls.push(String(commandName))
          return next(args)
        },
      { step: 'initialize', name: 'count' },
    )
    try {
      const again = await world.post(
        {},
        streaming('go', {
          container,
          messages: [
            { role: 'assistant', content: message.content },
            { role: 'user', content: 'x' },
          ],
        }),
      )
      await again.text()
      // The first is the authorizer's.
      expect(calls).toEqual(['GetItemCommand', 'BatchGetItemCommand'])
      calls.length = 0
      const [newContainer, newFile] = [fresh('container'), fresh('file')]
      const other = {
        content: bash('s1', 'x', [newFile]),
        container: { id: newContainer },
        containerIn: 'both' as const,
      }
      world.endpoint.replyWith(other)
      await (await world.post({}, streaming('go'))).text()
      expect(calls).toEqual(['GetItemCommand', 'TransactWriteItemsCommand', 'TransactWriteItemsCommand'])
    } finally {
      world.api.engines.dynamodb.middlewareStack.remove('count')
    }
  })
})

interface Listed {
  data: { id: string }[]
  next_page: string | null
}

describe('containers', () => {
  const list = async (who: Parameters<World['get']>[0], query = '') =>
    (await world.get(who, `/sandbox/anthropic/v1/containers${query}`)).json() as Promise<Listed>
  const use = async (who: Parameters<World['post']>[0], id: string, more: object = {}) => {
    world.endpoint.replyWith({ content: [text('x')], container: { id } })
    return world.post(who, request('x', more))
  }

  test('are listed, the newest first, with when they were used', async () => {
    const [mine, shared, others] = [fresh('container'), fresh('container'), fresh('container')]
    const start = world.clock.now
    await use({ user: 'u1' }, mine)
    world.clock.now += 1_000
    await use({ user: 'u2', scope: 'app' }, shared)
    await use({ user: 'u2' }, others)
    world.clock.now += 120_000
    await use({ user: 'u1' }, mine, { container: mine })
    const time = (at: number) => new Date(at).toISOString()
    const expires = (at: number) => time(at + 30 * 86_400_000)
    expect(await list({ user: 'u1' })).toEqual({
      data: [
        {
          id: shared,
          scope: 'app',
          created_at: time(start + 1_000),
          last_used_at: time(start + 1_000),
          expires_at: expires(start + 1_000),
        },
        {
          id: mine,
          scope: 'user',
          created_at: time(start),
          last_used_at: time(start + 121_000),
          expires_at: expires(start),
        },
      ],
      next_page: null,
    })
  })

  test('come in pages', async () => {
    const made: string[] = []
    for (const scope of ['user', 'app', 'user', 'app', 'user'] as const) {
      const id = fresh('container')
      made.unshift(id)
      world.clock.now += 1
      await use({ user: 'u1', scope }, id)
    }
    const found: string[] = []
    let page: string | null = ''
    while (page !== null) {
      const answer: Listed = await list({ user: 'u1' }, `?limit=2${page && `&page=${page}`}`)
      found.push(...answer.data.map(({ id }) => id))
      page = answer.next_page
    }
    expect(found).toEqual(made)
    for (const query of ['?limit=0', '?limit=101', '?limit=x', '?page=x', '?other=1']) {
      expect((await world.get({ user: 'u1' }, `/sandbox/anthropic/v1/containers${query}`)).status).toBe(400)
    }
  })

  test('can be used beyond what Anthropic says of their end, and are listed for 30 days', async () => {
    const id = fresh('container')
    await use({ user: 'u1' }, id)
    world.clock.now += 30 * 86_400_000 - 1
    expect((await use({ user: 'u1' }, id, { container: id })).status).toBe(200)
    expect((await list({ user: 'u1' })).data).toHaveLength(1)
    world.clock.now += 1
    expect((await list({ user: 'u1' })).data).toEqual([])
    expect((await use({ user: 'u1' }, id, { container: id })).status).toBe(200)
    world.clock.now += 60 * 86_400_000
    expect((await use({ user: 'u1' }, id, { container: id })).status).toBe(404)
  })
})

describe('a container that is gone', () => {
  const gone = [
    apiError(404, 'not_found_error', 'Container not found.'),
    apiError(400, 'invalid_request_error', 'Container container_1 has expired.'),
    apiError(500, 'api_error', 'Internal server error'),
    { status: 500, body: 'oops' },
  ]

  const withContainer = async () => {
    const id = fresh('container')
    await world.registry({}).addContainer(id, 'user')
    return id
  }

  test.each(gone)('is replaced once: %j', async (refusal) => {
    const [old, made] = [await withContainer(), fresh('container')]
    world.endpoint.replyWith(refusal, { content: [text('hi')], container: { id: made } })
    const response = await world.post({}, streaming('x', { container: { id: old, skills: [{ skill_id: 's' }] } }))
    expect(response.status).toBe(200)
    expect(response.headers.get('x-sandbox-container-replaced')).toBe(old)
    expect(await response.text()).toContain(made)
    expect(sent().map(({ body }) => body.container)).toEqual([
      { id: old, skills: [{ skill_id: 's' }] },
      { skills: [{ skill_id: 's' }] },
    ])
  })

  test('is not replaced twice, nor for what has nothing to do with it', async () => {
    const old = await withContainer()
    world.endpoint.replyWith(apiError(500, 'api_error', 'x'), apiError(500, 'api_error', 'y'), { content: [] })
    const twice = await world.post({}, request('x', { container: old }))
    expect([twice.status, twice.headers.get('x-sandbox-container-replaced'), sent().length]).toEqual([500, null, 2])
    for (const [status, message] of [
      [400, 'max_tokens: too large'],
      [429, 'slow down'],
      [529, 'overloaded'],
    ] as const) {
      world.endpoint.replyWith(apiError(status, 'x_error', message), { content: [] })
      expect((await world.post({}, request('x', { container: old }))).status).toBe(status)
      expect(sent()).toHaveLength(1)
    }
    world.endpoint.replyWith(apiError(404, 'not_found_error', 'model: x'), { content: [] })
    expect((await world.post({}, request('x'))).status).toBe(404)
    expect(sent()).toHaveLength(1)
  })

  test('is not replaced where something depends on it', async () => {
    const [old, file] = [await withContainer(), fresh('file')]
    await world.registry({}).addFile(file, 'user')
    const pending = [
      { role: 'assistant', content: [{ type: 'server_tool_use', id: 's1', name: 'code_execution', input: {} }] },
      { role: 'user', content: 'x' },
    ]
    const attached = [{ role: 'user', content: [{ type: 'container_upload', file_id: file }] }]
    for (const messages of [pending, attached]) {
      world.endpoint.replyWith(apiError(404, 'not_found_error', 'Container not found.'), { content: [] })
      const response = await world.post({}, { model: 'm', container: old, messages })
      expect([response.status, sent().length]).toEqual([404, 1])
    }
  })
})

describe('what the API refuses', () => {
  test.each([
    [400, 'invalid_request_error'],
    [413, 'request_too_large'],
    [429, 'rate_limit_error'],
    [500, 'api_error'],
    [529, 'overloaded_error'],
  ])('%i passes with its words and its retry-after', async (status, type) => {
    const refusal = apiError(status, type, 'why', { 'retry-after': '7', 'anthropic-organization-id': 'org_1' })
    world.endpoint.replyWith(refusal)
    const response = await world.post({}, streaming('x'))
    expect([response.status, response.headers.get('retry-after')]).toEqual([status, '7'])
    expect(response.headers.get('anthropic-organization-id')).toBeNull()
    expect(await response.text()).toBe(refusal.body)
  })

  test.each([401, 403, 302])('%i is the deployment’s own trouble', async (status) => {
    world.endpoint.replyWith(apiError(status, 'authentication_error', `invalid x-api-key ${UPSTREAM_KEY}`))
    const response = await world.post({}, request('x'))
    const answered = await response.text()
    expect(response.status).toBe(502)
    expect(JSON.parse(answered)).toMatchObject({ type: 'error', error: { type: 'api_error' } })
    expect(answered).not.toContain(UPSTREAM_KEY)
  })

  test('pages of gateways, and words that tell the key or the host, are put in our own', async () => {
    const host = new URL(world.endpoint.url).host
    for (const body of [
      '<html>',
      JSON.stringify({ type: 'error', error: { type: 'x', message: `${UPSTREAM_KEY}` } }),
      JSON.stringify({ error: { type: 'x', message: host } }),
    ]) {
      world.endpoint.replyWith({ status: 413, body })
      const response = await world.post({}, request('x'))
      expect(response.status).toBe(413)
      expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'request_too_large' } })
    }
  })

  test('no answer, or one that is none, is a 502', async () => {
    world.endpoint.replyWith(
      { body: '', broken: true },
      { body: '{"type":', headers: { 'content-type': 'application/json' } },
    )
    for (let index = 0; index < 2; index += 1) {
      const response = await world.post({}, request('x'))
      expect([response.status, await errorType(response)]).toEqual([502, 'api_error'])
    }
  })

  test('a stream that breaks off breaks off', async () => {
    world.endpoint.replyWith({
      headers: { 'content-type': 'text/event-stream' },
      body: sse(messageEvents({ content: [text('half')] }, 'm').slice(0, 4)),
      broken: true,
    })
    const response = await world.post({}, streaming('x'))
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  })

  test('an error in a stream passes', async () => {
    const events = [
      ...messageEvents({ content: [] }, 'm').slice(0, 1),
      { type: 'error', error: { type: 'overloaded_error', message: 'x' } },
    ]
    world.endpoint.replyWith({ headers: { 'content-type': 'text/event-stream' }, body: sse(events) })
    expect(await (await world.post({}, streaming('x'))).text()).toBe(sse(events))
  })
})

describe('a caller', () => {
  test('who goes away ends the request to the API', async () => {
    const gone = new AbortController()
    world.endpoint.replyWith({
      headers: { 'content-type': 'text/event-stream' },
      body: (async function* () {
        yield 'data: {"type":"ping"}\n\n'
        await new Promise(() => undefined)
      })(),
    })
    const response = await world.post({}, streaming('x'), { signal: gone.signal })
    const reader = response.body?.getReader()
    await reader?.read()
    gone.abort()
    await sent()[0]?.aborted
  })

  test('who is slow gets all of a long stream', async () => {
    const piece = `event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"${'x'.repeat(60_000)}"}}\n\n`
    let produced = 0
    world.endpoint.replyWith({
      headers: { 'content-type': 'text/event-stream' },
      body: (async function* () {
        for (; produced < 90; produced += 1) yield piece
      })(),
    })
    const response = await world.post({}, streaming('x'))
    await new Promise((resolve) => setImmediate(resolve))
    let size = 0
    for await (const chunk of response.body ?? []) size += chunk.length
    expect(size).toBe(90 * piece.length)
  })
})
