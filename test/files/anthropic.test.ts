import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { NotFoundError, UpstreamError } from '../../src/errors.ts'
import { userOwner } from '../../src/files/items.ts'
import { createFileRegistry } from '../../src/files/registry.ts'
import { injectFaults, refuse as refuseCommand } from '../store/support/faults.ts'
import { send } from '../store/support/send.ts'
import { loseUpstreamAnswer, refuse, startUpstream, UPSTREAM_KEY, type UpstreamFault } from './support/anthropic.ts'
import { contentOf, DAY, HOUR, listed, newFile, start, type World, world } from './support/world.ts'

const engines = await start()
const upstream = await startUpstream()
afterAll(async () => {
  await upstream.stop()
  await engines.stop()
})

let w: World
beforeEach(() => {
  w = world(engines, upstream.connection)
  upstream.clock = w.clock
  upstream.files.clear()
  upstream.requests.length = 0
  upstream.headers.length = 0
  upstream.faults.length = 0
})

/** What a sandbox of the provider made, registered as the user's or the app's. */
async function output(user = 'ann', scope: 'user' | 'app' = 'user'): Promise<string> {
  const id = upstream.output('out.csv', Buffer.from('a,b\n'))
  const registry = createFileRegistry({ ...engines, scope: w.scope, user: userOwner(user), now: () => w.clock.now })
  await registry.register(id, scope)
  return id
}

describe('an upload', () => {
  it('goes on to Anthropic, with its name, its type and its life, under its id', async () => {
    const made = await w.files().create(newFile({ filename: 'd\u00e9j\u00e0 "vu".csv', mimeType: 'text/csv' }))
    const [stored] = [...upstream.files.values()]
    expect(stored).toMatchObject({ id: made.id, filename: 'd\u00e9j\u00e0 _vu_.csv', mime_type: 'text/csv' })
    expect(stored?.bytes.toString()).toBe('hello')
    expect(Date.parse(stored?.expires_at ?? '')).toBe(w.clock.now + 30 * DAY)
    expect(made).toMatchObject({ filename: 'd\u00e9j\u00e0 "vu".csv', sizeBytes: 5, downloadable: false })
    expect(await w.files().get(made.id)).toEqual(made)
    expect(upstream.requests).toEqual(['POST /v1/files'])
    expect(upstream.headers[0]).toMatchObject({ 'x-api-key': UPSTREAM_KEY, 'anthropic-version': '2023-06-01' })
    await expect(w.files().open(made.id)).rejects.toMatchObject({ code: 'file_not_downloadable' })
  })

  it('that was presigned goes on when it is completed, and leaves nothing in the bucket', async () => {
    const bytes = Buffer.alloc(33_554_432, 3)
    const { uploadId, request } = await w.files().startUpload({ ...newFile(), sizeBytes: bytes.length })
    await send(request, bytes)
    const { file } = await w.files().completeUpload(uploadId)
    expect(upstream.files.get(file.id)?.bytes.equals(bytes)).toBe(true)
    expect(await w.files().completeUpload(uploadId)).toEqual({ file, isNew: false })
    expect((await fetch(request.url)).status).toBe(403)
    expect(await send({ ...request }, bytes)).toMatchObject({ status: 200 })
    expect(upstream.files.size).toBe(1)
  })

  it('that is completed many times at once leaves one file there', async () => {
    const { uploadId, request } = await w.files().startUpload({ ...newFile(), sizeBytes: 5 })
    await send(request, Buffer.from('hello'))
    const completed = await Promise.allSettled(Array.from({ length: 4 }, () => w.files().completeUpload(uploadId)))
    const ids = completed.flatMap((result) => (result.status === 'fulfilled' ? [result.value.file.id] : []))
    expect(new Set(ids).size).toBe(1)
    expect([...upstream.files.keys()]).toEqual([...new Set(ids)])
  })

  it('of a sandbox stays here, where it can be downloaded', async () => {
    const { id } = await w.files().create(newFile({ fromSandbox: true }))
    expect(upstream.requests).toEqual([])
    expect((await contentOf(w.files(), id)).toString()).toBe('hello')
  })
})

describe('what a hosted sandbox made', () => {
  it('is asked about once, and downloaded through here', async () => {
    const id = await output()
    const file = await w.files().get(id)
    expect(file).toMatchObject({ filename: 'out.csv', mimeType: 'text/csv', sizeBytes: 4, downloadable: true })
    expect(file.expiresAt).toBeNull()
    expect((await w.files().list()).files).toEqual([file])
    expect((await contentOf(w.files(), id)).toString()).toBe('a,b\n')
    expect(upstream.requests).toEqual([`GET /v1/files/${id}`, `GET /v1/files/${id}/content`])
  })

  it('is asked about by a list', async () => {
    const ids = [await output(), await output('ann', 'app'), await output('bob')]
    expect((await w.files().list()).files.map(({ id }) => id).sort()).toEqual(ids.slice(0, 2).sort())
    upstream.requests.length = 0
    await w.files().list()
    expect(upstream.requests).toEqual([])
  })

  it('and is gone there is gone here, and leaves no hole in a list', async () => {
    const ids = [await output(), await output(), await output()]
    upstream.files.delete(ids[1] ?? '')
    expect((await w.files().list({ limit: 2 })).files.map(({ id }) => id).sort()).toEqual([ids[0], ids[2]].sort())
    const known = await output()
    await w.files().get(known)
    upstream.files.delete(known)
    await expect(w.files().open(known)).rejects.toThrow(NotFoundError)
    expect(await listed(w.files())).toHaveLength(2)
  })

  it('and many delete at once is deleted by one of them', async () => {
    const id = await output('ann', 'app')
    const deleted = await Promise.allSettled(Array.from({ length: 6 }, (_, index) => w.files(`u${index}`).delete(id)))
    expect(deleted.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('is deleted there too, and remembered for 30 days', async () => {
    const id = await output()
    await w.files().delete(id)
    expect(upstream.files.size).toBe(0)
    await expect(w.files().get(id)).rejects.toThrow(NotFoundError)
    await expect(w.files().delete(id)).rejects.toThrow(NotFoundError)
    const registry = createFileRegistry({
      ...engines,
      scope: w.scope,
      user: userOwner('ann'),
      now: () => w.clock.now,
    })
    expect((await registry.lookUp([id])).get(id)).toEqual({ scope: 'user', backend: 'anthropic', live: false })
    w.clock.now += 30 * DAY
    expect((await registry.lookUp([id])).size).toBe(0)
  })
})

describe('a refusal of Anthropic', () => {
  const cases: [what: string, fault: UpstreamFault, expected: object][] = [
    [
      'too many requests',
      (_h, r) => refuse(r, 429, 'rate_limit_error', 'slow', undefined, { 'retry-after': '17' }),
      { status: 429, code: 'too_many_requests', retryAfter: '17' },
    ],
    [
      'a retry-after that is none',
      (_h, r) => refuse(r, 429, 'rate_limit_error', 'slow', undefined, { 'retry-after': 'http://x' }),
      { status: 429, retryAfter: undefined },
    ],
    [
      'overload',
      (_h, r) => refuse(r, 529, 'overloaded_error', 'busy', undefined, { 'retry-after': '3' }),
      { status: 503, code: 'upstream_busy', retryAfter: '3' },
    ],
    [
      'a wrong key',
      (_h, r) => refuse(r, 401, 'authentication_error', UPSTREAM_KEY),
      { status: 502, code: 'upstream_failed' },
    ],
    ['a key without the right', (_h, r) => refuse(r, 403, 'permission_error', 'org_1'), { status: 502 }],
    ['a failure', (_h, r) => refuse(r, 500, 'api_error', 'oops'), { status: 502, code: 'upstream_failed' }],
    [
      'a page instead of JSON',
      (_h, r) => void r.writeHead(413).end('<html>'),
      { status: 413, code: 'payload_too_large' },
    ],
    [
      'a full storage',
      (_h, r) => refuse(r, 400, 'invalid_request_error', 'full', { error_code: 'storage_quota_exceeded' }),
      { status: 507, code: 'storage_full' },
    ],
    [
      'a bad name',
      (_h, r) => refuse(r, 400, 'invalid_request_error', 'file_9 x'),
      { status: 400, code: 'file_refused' },
    ],
    ['no JSON', (_h, r) => void r.writeHead(200).end('{'), { status: 502, code: 'upstream_failed' }],
    ['an id that is none', (_h, r) => void r.writeHead(200).end('{"id":"a/../b"}'), { status: 502 }],
    ['a redirect', (_h, r) => void r.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(), { status: 502 }],
    ['a broken connection', (_h, r) => void r.destroy(), { status: 502, code: 'upstream_failed' }],
  ]
  it.each(cases)('%s is told in our words, and nothing of it', async (_what, fault, expected) => {
    upstream.faults.push(fault)
    const error = await w
      .files()
      .create(newFile())
      .catch((thrown: Error) => thrown)
    expect(error).toMatchObject(expected)
    const { message } = error as Error
    for (const secret of [UPSTREAM_KEY, upstream.connection.baseUrl, 'org_1', 'file_9', '127.0.0.1', 'req_upstream']) {
      expect(message).not.toContain(secret)
    }
    expect(await listed(w.files())).toEqual([])
  })

  it('of a delete leaves it to the sweep, and the file is deleted', async () => {
    const id = await output()
    upstream.faults.push((_h, r) => refuse(r, 500, 'api_error', 'oops'))
    await w.files().delete(id)
    expect(w.leftovers).toHaveLength(1)
    await expect(w.files().get(id)).rejects.toThrow(NotFoundError)
    expect(upstream.files.has(id)).toBe(true)
    await w.sweep()
    expect(upstream.files.has(id)).toBe(false)
    upstream.requests.length = 0
    await w.sweep()
    expect(upstream.requests).toEqual([])
  })
})

describe('an upload that ended half-way', () => {
  /** Ends as when the process was killed: no clean-up of its own gets through either. */
  async function endBefore(command: string, filename = 'a.txt'): Promise<void> {
    using _killed = injectFaults(engines.dynamodb, command, [refuseCommand(() => new Error('killed'))])
    await expect(w.files().create(newFile({ filename }))).rejects.toThrow('killed')
  }

  it('before its record leaves a file there that the sweep finds and removes, and no other', async () => {
    await endBefore('TransactWriteItems')
    const [orphan] = [...upstream.files.keys()]
    // The same name, size and life: of other projects, of this one, and of nobody who is known here.
    const other = world(engines, upstream.connection)
    const kept = [(await w.files().create(newFile())).id, (await other.files().create(newFile())).id]
    w.clock.now += 20 * 60_000
    kept.push((await w.files().create(newFile({ filename: 'b.txt' }))).id)
    const later = upstream.files.get(kept[2] ?? '')
    if (later) upstream.files.set('file_later', { ...later, id: 'file_later', filename: 'a.txt' })
    expect(await w.sweep()).toMatchObject({ cleared: 0, failures: [] })
    expect(upstream.files.has(orphan ?? '')).toBe(true)
    w.clock.now += HOUR
    expect(await w.sweep()).toMatchObject({ cleared: 1, failures: [] })
    expect([...upstream.files.keys()].sort()).toEqual([...kept, 'file_later'].sort())
    expect(await listed(w.files())).toHaveLength(2)
    upstream.requests.length = 0
    await w.sweep()
    expect(upstream.requests.filter((request) => !request.includes('ids'))).toEqual([])
  })

  it('as the answer of Anthropic was lost is found too', async () => {
    upstream.faults.push(loseUpstreamAnswer)
    await expect(w.files().create(newFile())).rejects.toThrow(UpstreamError)
    expect(upstream.files.size).toBe(1)
    w.clock.now += 2 * HOUR
    expect(await w.sweep()).toMatchObject({ cleared: 1 })
    expect(upstream.files.size).toBe(0)
  })

  it('before it reached Anthropic is settled', async () => {
    upstream.faults.push((_h, r) => void r.destroy())
    await expect(w.files().create(newFile())).rejects.toThrow(UpstreamError)
    w.clock.now += 2 * HOUR
    expect(await w.sweep()).toMatchObject({ cleared: 1, failures: [] })
    expect(await w.sweep()).toMatchObject({ cleared: 0 })
  })

  it('is found again when the sweep is refused', async () => {
    await endBefore('TransactWriteItems')
    w.clock.now += 2 * HOUR
    upstream.faults.push((_h, r) => refuse(r, 429, 'rate_limit_error', 'slow'))
    const { failures } = await w.sweep()
    expect(failures).toHaveLength(1)
    expect(upstream.files.size).toBe(1)
    expect(await w.sweep()).toMatchObject({ cleared: 1, failures: [] })
    expect(upstream.files.size).toBe(0)
  })

  it('is looked for in all pages of the list', async () => {
    await endBefore('TransactWriteItems')
    for (let index = 0; index < 1_200; index++) {
      upstream.clock = { now: w.clock.now + 1 + index }
      upstream.output('other.csv', Buffer.from('hello'))
    }
    w.clock.now += 2 * HOUR
    await w.sweep()
    expect([...upstream.files.values()].every(({ filename }) => filename === 'other.csv')).toBe(true)
    expect(upstream.requests.filter((request) => request.startsWith('GET /v1/files?limit'))).toHaveLength(2)
  })

  it('whose record landed, but whose answer was lost, is whole', async () => {
    const lost = async (sendIt: () => Promise<unknown>) => {
      await sendIt()
      throw Object.assign(new Error('lost'), { name: 'TimeoutError' })
    }
    using _faults = injectFaults(engines.dynamodb, 'TransactWriteItems', [lost, lost])
    const { id } = await w.files().create(newFile())
    w.clock.now += 2 * HOUR
    await w.sweep()
    expect(await listed(w.files())).toEqual([id])
    expect([...upstream.files.keys()]).toEqual([id])
  })
})

describe('the sweep', () => {
  it('deletes here what is gone there', async () => {
    const made = [await w.files().create(newFile()), await w.files().create(newFile())].map(({ id }) => id)
    upstream.files.delete(made[0] ?? '')
    expect(await w.sweep()).toMatchObject({ cleared: 1, failures: [] })
    expect(await listed(w.files())).toEqual([made[1]])
  })

  it('deletes nothing when all is gone there: the key may be of another workspace', async () => {
    const ids = [await w.files().create(newFile()), await w.files().create(newFile())].map(({ id }) => id)
    upstream.files.clear()
    const { cleared, failures } = await w.sweep()
    expect(cleared).toBe(0)
    expect(failures).toMatchObject([{ key: 'provider', reason: expect.stringContaining('another workspace') }])
    expect((await listed(w.files())).sort()).toEqual(ids.sort())
  })

  it('does not take what a list left out for gone', async () => {
    const { id } = await w.files().create(newFile())
    await w.files().create(newFile())
    upstream.faults.push((_h, r) => {
      const [other] = [...upstream.files.values()].filter((file) => file.id !== id)
      const { bytes, ...rest } = other as NonNullable<typeof other>
      r.writeHead(200).end(JSON.stringify({ data: [{ ...rest, size_bytes: bytes.length }], next_page: null }))
    })
    await w.sweep()
    expect(await listed(w.files())).toHaveLength(2)
  })

  it('removes there what has expired here', async () => {
    const { id } = await w.files().create(newFile({ expiresInSeconds: 3_600 }))
    w.clock.now += HOUR
    expect(await w.sweep()).toMatchObject({ cleared: 1, failures: [] })
    expect(upstream.files.has(id)).toBe(false)
    expect(await w.sweep()).toMatchObject({ cleared: 0, failures: [] })
  })

  it('without the provider leaves what lies there', async () => {
    const { id } = await w.files().create(newFile({ expiresInSeconds: 3_600 }))
    w.clock.now += HOUR
    expect((await w.sweep({ anthropic: undefined })).failures).toEqual([])
    expect(upstream.files.has(id)).toBe(true)
    await w.sweep()
    expect(upstream.files.has(id)).toBe(false)
  })
})
