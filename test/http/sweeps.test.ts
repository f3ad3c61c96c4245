import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SandkeepClient } from '../../client/index.ts'
import { BASE } from '../../lambdas/checkpoints/routes.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { startTestApi, type TestApi } from './support/api.ts'
import { checkpoint } from './support/checkpoint.ts'

const HOUR_MS = 3_600_000

let api: TestApi
/** By its clock, what was uploaded just now is an hour old. */
let later: Pick<TestApi, 'client' | 'fetch'>
let apiKey: string
let scope: Scope
let client: SandkeepClient
beforeAll(async () => {
  api = await startTestApi()
  apiKey = await api.createKey('project_admin')
  later = api.withOptions({ now: () => Date.now() + HOUR_MS })
})
afterAll(() => api.stop())
beforeEach(() => {
  scope = api.engines.freshScope()
  client = later.client({ apiKey, ...scope })
})

async function send(method: 'GET' | 'POST', route: string, body: object = {}, key = apiKey) {
  const response = await later.fetch(api.url + BASE + route, {
    method,
    headers: {
      'content-type': 'application/json',
      'x-api-key': key,
      'x-sandbox-tenant-id': scope.tenant,
      'x-sandbox-project-id': scope.project,
    },
    ...(method === 'POST' && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: JSON.parse(await response.text()) }
}

const keyOf = (text: string) => `sandbox-files/sha256/${createHash('sha256').update(text).digest('hex')}`
const put = (text: string) => client.blobs.put(keyOf(text), new TextEncoder().encode(text))

/** Threads `a` and `b`, which share a blob; one that neither uses. */
async function fill(): Promise<void> {
  for (const text of ['shared', 'alone', 'unused']) await put(text)
  for (const [thread, texts] of [
    ['a', ['shared']],
    ['b', ['shared', 'alone']],
  ] as const) {
    const writer = await client.checkpoints.acquireWriter(thread)
    const files = texts.map((text) => ({ path: text, kind: 'file' as const, blobKey: keyOf(text), size: text.length }))
    await client.checkpoints.append({ checkpoint: checkpoint(thread, thread, { files }), expectedHeadId: null, writer })
    await writer.release()
  }
}

describe('a sweep', () => {
  it('begins in the background, removes what is unused, and leaves a report', async () => {
    await fill()
    const started = await send('POST', '/sweeps', { older_than_ms: 0 })
    expect(started).toStrictEqual({ status: 202, body: { sweep_id: expect.stringMatching(/^\d{4}-.*Z-[0-9a-f]{8}$/) } })
    expect(await send('GET', '/sweeps')).toStrictEqual({
      status: 200,
      body: {
        sweeps: [
          {
            sweep_id: started.body.sweep_id,
            state: 'done',
            started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
            seconds: expect.any(Number),
            dry_run: false,
            listed: 3,
            referenced: 2,
            condemned: 1,
            spared: 0,
            deleted: 1,
            bytes_freed: 6,
            cleared: 0,
            requests: expect.any(Number),
            cost_usd: expect.any(Number),
            failures: [],
          },
        ],
      },
    })
    expect((await client.blobs.list('')).map(({ key }) => key)).toStrictEqual([keyOf('shared'), keyOf('alone')].sort())
  })

  it('takes by default what is older than a day only', async () => {
    await put('an hour old')
    await send('POST', '/sweeps')
    expect((await client.sweeps.list())[0]).toMatchObject({ listed: 1, condemned: 0, deleted: 0 })
  })

  it('changes nothing when it is dry', async () => {
    await put('unused')
    await client.sweeps.start({ olderThanMs: 0, dryRun: true })
    expect((await client.sweeps.list())[0]).toMatchObject({ state: 'done', dryRun: true, condemned: 1, deleted: 0 })
    expect(await client.blobs.head(keyOf('unused'))).not.toBeNull()
  })

  it('that waits for leases says so, and what it condemned counts as missing until the next', async () => {
    await put('unused')
    const writer = await client.checkpoints.acquireWriter('busy')
    await client.sweeps.start({ olderThanMs: 0 })
    expect((await client.sweeps.list())[0]).toMatchObject({ state: 'waiting', condemned: 1, deleted: 0 })
    const key = keyOf('unused')
    expect(await send('POST', '/blobs/head', { keys: [key] })).toStrictEqual({
      status: 200,
      body: { blobs: [], missing: [key] },
    })
    expect(await client.blobs.head(key)).toBeNull()
    await writer.release()
    await client.sweeps.start({ olderThanMs: 0 })
    expect((await client.sweeps.list())[0]).toMatchObject({ state: 'done', deleted: 1 })
  })

  it('is not for writers, nor of another scope', async () => {
    expect((await send('POST', '/sweeps', {}, await api.createKey('writer'))).status).toBe(403)
    await client.sweeps.start()
    expect(await later.client().sweeps.list()).toStrictEqual([])
  })

  it.each([
    [{ older_than_ms: -1 }, 'older_than_ms'],
    [{ older_than_ms: 1.5 }, 'older_than_ms'],
    [{ older_than_ms: '24h' }, 'older_than_ms'],
    [{ dry_run: 1 }, 'dry_run'],
    [{ wait_ms: 600_001 }, 'wait_ms'],
    [{ wait_ms: -1 }, 'wait_ms'],
    [{ scope: { tenant: 'other', project: 'p' } }, 'scope'],
  ])('refuses %j', async (body, field) => {
    const refused = await send('POST', '/sweeps', body)
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_input', field } } })
  })
})

describe('reports', () => {
  it('come newest first, as many as asked for', async () => {
    const ids: string[] = []
    let now = Date.now()
    const ticking = api.withOptions({ now: () => (now += 1) }).client({ apiKey, ...scope })
    for (let count = 0; count < 3; count++) ids.unshift((await ticking.sweeps.start()).sweepId)
    expect((await ticking.sweeps.list()).map(({ id }) => id)).toStrictEqual(ids)
    expect((await ticking.sweeps.list({ limit: 2 })).map(({ id }) => id)).toStrictEqual(ids.slice(0, 2))
  })

  it.each(['limit=0', 'limit=101', 'limit=01', 'limit=1.0', 'limit=', 'limit=1&limit=1'])(
    'refuse %s',
    async (query) => {
      const refused = await send('GET', `/sweeps?${query}`)
      expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_input', field: 'limit' } } })
    },
  )

  it.each(['/sweeps?page=1', '/usage?page=1'])('%s is refused: nothing reads the parameter', async (route) => {
    expect(await send('GET', route)).toMatchObject({ status: 400, body: { error: { field: 'page' } } })
  })

  it('are no place for an uploaded body', async () => {
    expect(await send('GET', '/sweeps?upload_id=x')).toMatchObject({
      status: 400,
      body: { error: { field: 'upload_id', message: 'upload_id is not a known field.' } },
    })
  })
})

describe('usage', () => {
  it('counts each used blob once in bytes kept, and as often as used in logical bytes', async () => {
    await fill()
    await client.checkpoints.acquireWriter('a thread without a checkpoint')
    expect(await send('GET', '/usage', {}, await api.createKey('viewer'))).toStrictEqual({
      status: 200,
      body: {
        threads: 2,
        checkpoints: 2,
        referenced_blobs: 2,
        referenced_bytes: 11,
        logical_bytes: 17,
        unreferenced_blobs: 1,
        unreferenced_bytes: 6,
      },
    })
  })

  it('counts what was deleted while it waits for a lease, and no longer', async () => {
    await put('unused')
    const writer = await client.checkpoints.acquireWriter('t')
    await client.blobs.delete(keyOf('unused'))
    expect(await client.sweeps.usage()).toMatchObject({ unreferencedBlobs: 1, unreferencedBytes: 6 })
    await writer.release()
    await client.sweeps.start({ olderThanMs: 0 })
    expect(await client.sweeps.usage()).toMatchObject({ unreferencedBlobs: 0, unreferencedBytes: 0 })
  })

  it('has the same shape in the client', async () => {
    await put('unused')
    expect(await client.sweeps.usage()).toStrictEqual({
      threads: 0,
      checkpoints: 0,
      referencedBlobs: 0,
      referencedBytes: 0,
      logicalBytes: 0,
      unreferencedBlobs: 1,
      unreferencedBytes: 6,
    })
  })
})

describe('heads of blobs', () => {
  it('are given for what is there, and the rest is named, in the order asked for', async () => {
    await put('one')
    await put('two')
    const keys = ['two', 'gone', 'one'].map(keyOf)
    const blob = (text: string) => ({ key: keyOf(text), size_bytes: 3, uploaded_at: expect.stringMatching(/Z$/) })
    expect(await send('POST', '/blobs/head', { keys }, await api.createKey('viewer'))).toStrictEqual({
      status: 200,
      body: { blobs: [blob('two'), blob('one')], missing: [keyOf('gone')] },
    })
  })

  it.each([[[]], [['x']], [Array.from({ length: 1_001 }, () => keyOf('a'))]])('need 1 to 1,000 keys', async (keys) => {
    expect(await send('POST', '/blobs/head', { keys })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_input', field: expect.stringMatching(/^keys/) } },
    })
  })
})
