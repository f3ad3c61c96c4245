import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type ArtifactContent, type SandkeepClient, SandkeepHttpError, type TurnMeta } from '../../client/index.ts'
import { InvalidInputError, PayloadTooLargeError } from '../../src/errors.ts'
import { startTestApi, type TestApi } from '../http/support/api.ts'
import { answer, networkFailure, refusal, scripted } from './support.ts'

let api: TestApi
let folder: string
let client: SandkeepClient
beforeAll(async () => {
  api = await startTestApi()
  folder = await mkdtemp(path.join(tmpdir(), 'sandkeep-memory-'))
})
afterAll(async () => {
  await api.stop()
  await rm(folder, { recursive: true })
})
beforeEach(() => {
  client = api.client()
})

const ID = { taskId: 'task-42', turn: 1 }
const LIMIT = 4_194_304
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function* chunksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(size)
  for (let start = 0; start < bytes.length; start += size) {
    const chunk = bytes.subarray(start, start + size)
    buffer.set(chunk)
    // The same memory each time, as a reader of files may do it.
    yield buffer.subarray(0, chunk.length)
  }
}

describe('turns', () => {
  it('come back as they were written', async () => {
    const meta = { agent_id: 'claude-code', exit_code: -0, tokens: { input: 1, cached: 2 }, extra: [{ a: null }] }
    const written = await client.memory.putTurn({ ...ID, meta, summaryMd: '# 語\n"quoted"' })
    expect(written).toStrictEqual({
      ...ID,
      meta,
      metaJson: '{"agent_id":"claude-code","exit_code":-0,"tokens":{"input":1,"cached":2},"extra":[{"a":null}]}',
      summaryMd: '# 語\n"quoted"',
      artifacts: [],
      createdAt: expect.any(Number),
      updatedAt: written.createdAt,
      retainUntil: written.createdAt + 2_592_000_000,
    })
    expect(await client.memory.getTurn(ID)).toStrictEqual(written)
    expect(await client.memory.putTurn(ID)).toMatchObject({ meta: {}, metaJson: '{}', summaryMd: '' })
  })

  it('keep in metaJson what numbers of JavaScript do not', async () => {
    const metaJson = '{"id":9007199254740993,"big":1e400,"price":1.10}'
    const written = await client.memory.putTurn({
      ...ID,
      metaJson: ` {"id" : 9007199254740993,"big":1e400, "price":1.10} `,
    })
    expect(written.metaJson).toBe(metaJson)
    expect(written.meta).toStrictEqual({ id: 9007199254740992, big: Number.POSITIVE_INFINITY, price: 1.1 })
    expect((await client.memory.getTurn(ID))?.metaJson).toBe(metaJson)
    await client.memory.putTurn({ ...ID, turn: ID.turn + 1, meta: { a: [{ meta: '}]' }] } })
    const turns = await Array.fromAsync(client.memory.listTurns(ID.taskId))
    expect(turns.map((turn) => turn.metaJson)).toStrictEqual([metaJson, '{"a":[{"meta":"}]"}]}'])
  })

  it('are null when they are not there', async () => {
    expect(await client.memory.getTurn(ID)).toBeNull()
    expect(await client.memory.getTask('task-42')).toBeNull()
    expect(await client.memory.getArtifact({ ...ID, name: 'a' })).toBeNull()
  })

  it.each<[object, string]>([
    [{ taskId: '' }, 'taskId'],
    [{ taskId: 'a/b' }, 'taskId'],
    [{ taskId: '..' }, 'taskId'],
    [{ taskId: undefined }, 'taskId'],
    [{ turn: -1 }, 'turn'],
    [{ turn: 10_000 }, 'turn'],
    [{ turn: 1.5 }, 'turn'],
    [{ turn: '1' }, 'turn'],
    [{ meta: [] }, 'meta'],
    [{ meta: { at: new Date(0) } }, 'meta'],
    [{ meta: { n: Number.NaN } }, 'meta'],
    [{ metaJson: '[]' }, 'metaJson'],
    [{ metaJson: '{' }, 'metaJson'],
    [{ metaJson: '{}', meta: {} }, 'metaJson'],
    [{ summaryMd: '\ud800' }, 'summaryMd'],
    [{ summaryMd: 5 }, 'summaryMd'],
  ])('are not sent with %j', async (wrong, field) => {
    const { client, sent } = scripted([])
    const failure = await client.memory.putTurn({ ...ID, ...wrong }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(InvalidInputError)
    expect(failure).toMatchObject({ field })
    expect(sent).toStrictEqual([])
  })

  it.each<[object, string]>([
    [{ meta: { a: 'x'.repeat(65_529) } }, 'meta'],
    [{ metaJson: `{"a":"${'x'.repeat(65_529)}"}` }, 'metaJson'],
    [{ summaryMd: '語'.repeat(349_526) }, 'summaryMd'],
  ])('are not sent when they are too large', async (wrong, field) => {
    const { client, sent } = scripted([])
    const failure = await client.memory.putTurn({ ...ID, ...wrong }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(PayloadTooLargeError)
    expect(failure).toMatchObject({ field })
    expect(sent).toStrictEqual([])
  })

  it('are sent again after failures that pass', async () => {
    const turn = {
      ...{ task_id: 'task-42', turn: 1, meta: {}, summary_md: '', artifacts: [] },
      ...{ created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' },
      retain_until: '2026-01-02T00:00:00.000Z',
    }
    const { client, sent } = scripted([networkFailure('ECONNRESET'), refusal(503, 'unavailable'), answer(turn)])
    expect(await client.memory.putTurn({ ...ID, summaryMd: 's' })).toMatchObject({ createdAt: 1_767_225_600_000 })
    expect(sent.map(({ method, url, body }) => [method, url, body])).toStrictEqual(
      Array.from({ length: 3 }, () => [
        'PUT',
        'http://api.test/api/sandbox/memory/v1/tasks/task-42/turns/1',
        '{"meta":{},"summary_md":"s"}',
      ]),
    )
  })

  it('do not pass off a failure as nothing there', async () => {
    const { client } = scripted([refusal(403, 'forbidden'), new Response('<html>', { status: 404 })])
    await expect(client.memory.getTurn(ID)).rejects.toMatchObject({ status: 403 })
    await expect(client.memory.getTurn(ID)).rejects.toBeInstanceOf(SandkeepHttpError)
  })
})

describe('artifacts', () => {
  const put = (content: ArtifactContent, more: object = {}) =>
    client.memory.putArtifact({ ...ID, name: 'a.bin', content, ...more })

  const sources: Array<[string, (bytes: Buffer) => ArtifactContent | Promise<ArtifactContent>]> = [
    ['a Blob', (bytes) => new Blob([bytes as Uint8Array<ArrayBuffer>])],
    ['bytes', (bytes) => bytes],
    ['a stream', (bytes) => new Blob([bytes as Uint8Array<ArrayBuffer>]).stream()],
    ['an async iterable', (bytes) => chunksOf(bytes, 100_000)],
    [
      'a file',
      async (bytes) => {
        const file = path.join(folder, 'a.bin')
        await writeFile(file, bytes)
        return { path: file }
      },
    ],
  ]

  it.each(sources)('of %s go up and come back', async (_what, make) => {
    for (const size of [0, 10, LIMIT, LIMIT + 1]) {
      const bytes = randomBytes(size)
      const before = api.requests.length
      const progress: number[] = []
      const record = await put(await make(bytes), {
        contentType: 'image/png',
        onProgress: ({ sentBytes, totalBytes }: { sentBytes: number; totalBytes: number }) => {
          expect(totalBytes).toBe(size)
          progress.push(sentBytes)
        },
      })
      expect(record).toMatchObject({ name: 'a.bin', sizeBytes: size, contentType: 'image/png', sha256: sha256(bytes) })
      expect(
        api.requests.slice(before).map((line) => line.replace(/[0-9a-f-]{36}/, 'ID').split('/turns/1')[1]),
      ).toStrictEqual(
        size > LIMIT ? ['/artifacts/a.bin/upload', '/artifacts/a.bin/upload/ID/complete'] : ['/artifacts/a.bin'],
      )
      expect(progress.at(-1) ?? 0).toBe(size)
      const body = await client.memory.getArtifact({ ...ID, name: 'a.bin' })
      expect(body).toMatchObject({ sizeBytes: size, contentType: 'image/png', sha256: sha256(bytes) })
      expect(Buffer.from((await body?.arrayBuffer()) ?? new ArrayBuffer(0)).equals(bytes)).toBe(true)
    }
  })

  it('have the type of a Blob, or none in particular', async () => {
    expect((await put(new Blob(['x'], { type: 'text/plain' }))).contentType).toBe('text/plain')
    expect((await put(Buffer.from('x'))).contentType).toBe('application/octet-stream')
  })

  it('come back as a stream', async () => {
    await put(Buffer.from('abc'))
    const body = await client.memory.getArtifact({ ...ID, name: 'a.bin' })
    expect(await new Response(body?.stream()).text()).toBe('abc')
  })

  it('are not sent when they are larger than 50 MiB', async () => {
    const { client, sent } = scripted([])
    const bytes = new Uint8Array(52_428_801)
    const endless = (async function* () {
      for (;;) yield new Uint8Array(8_388_608)
    })()
    for (const content of [bytes, new Blob([bytes]), endless]) {
      const failure = await client.memory.putArtifact({ ...ID, name: 'a', content }).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(PayloadTooLargeError)
    }
    expect(sent).toStrictEqual([])
  })

  it.each<[object, string]>([
    [{ name: '..' }, 'name'],
    [{ name: 'a/b' }, 'name'],
    [{ contentType: 'a\nb' }, 'contentType'],
    [{ contentType: '' }, 'contentType'],
    [{ content: 'text' }, 'content'],
    [{ content: {} }, 'content'],
    [{ content: null }, 'content'],
  ])('are not sent with %j', async (wrong, field) => {
    const { client, sent } = scripted([])
    const failure = await client.memory
      .putArtifact({ ...ID, name: 'a', content: Buffer.from('x'), ...wrong })
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(InvalidInputError)
    expect(failure).toMatchObject({ field })
    expect(sent).toStrictEqual([])
  })

  it('of a file that is not there fail with its name', async () => {
    await expect(put({ path: path.join(folder, 'none') })).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('are sent from the beginning again after a failure, as the progress tells', async () => {
    const record = {
      ...{ name: 'a', size_bytes: 3, content_type: 'application/octet-stream', sha256: 'h' },
      ...{ created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' },
    }
    const { client, sent } = scripted([networkFailure('ECONNRESET'), answer(record)])
    const progress: number[] = []
    const content = (async function* () {
      yield Buffer.from('ab')
      yield Buffer.from('c')
    })()
    await client.memory.putArtifact({
      ...ID,
      name: 'a',
      content,
      onProgress: ({ sentBytes }) => progress.push(sentBytes),
    })
    expect(sent.map(({ body }) => body)).toStrictEqual(['abc', 'abc'])
    expect(progress.filter((bytes) => bytes === 3)).toHaveLength(2)
  })

  it('come from the storage without the key', async () => {
    const record = {
      ...{ name: 'a', size_bytes: 3, content_type: 'text/x', sha256: 'h', location: 'http://s3.test/a' },
      ...{ created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' },
    }
    const { client, sent } = scripted([
      answer(record, 307, { location: 'http://s3.test/a?signature' }),
      new Response('abc'),
      answer(record, 307, { location: 'http://s3.test/a?signature' }),
      new Response('ab'),
    ])
    const body = await client.memory.getArtifact({ ...ID, name: 'a' })
    expect(body).toMatchObject({ contentType: 'text/x', sizeBytes: 3, sha256: 'h' })
    expect(Buffer.from((await body?.arrayBuffer()) ?? new ArrayBuffer(0)).toString()).toBe('abc')
    expect(sent[1]).toMatchObject({ url: 'http://s3.test/a?signature' })
    expect([...(sent[1]?.headers ?? [])]).toStrictEqual([])
    const short = await client.memory.getArtifact({ ...ID, name: 'a' })
    await expect(short?.arrayBuffer()).rejects.toMatchObject({ code: 'network_error' })
  })
})

describe('tasks', () => {
  it('are listed by pages, and all', async () => {
    for (const taskId of ['c', 'a', 'b']) await client.memory.putTurn({ taskId, turn: 3 })
    const first = await client.memory.listTasksPage({ limit: 2 })
    expect(first.tasks.map(({ taskId }) => taskId)).toStrictEqual(['a', 'b'])
    const second = await client.memory.listTasksPage({ limit: 2, page: first.nextPage ?? '' })
    expect(second).toMatchObject({ tasks: [{ taskId: 'c', latestTurn: 3, turnCount: 1 }], nextPage: null })
    const all = await Array.fromAsync(client.memory.listTasks())
    expect(all).toStrictEqual([...first.tasks, ...second.tasks])
    expect(all[0]).toStrictEqual({
      taskId: 'a',
      latestTurn: 3,
      turnCount: 1,
      createdBy: expect.any(String),
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
      retainUntil: expect.any(Number),
    })
  })

  it('are listed over many pages as one', async () => {
    const task = (task_id: string) => ({ task_id, created_at: '2026-01-01T00:00:00.000Z' })
    const { client, sent } = scripted([
      answer({ tasks: [task('a'), task('b')], next_page: 'b' }),
      answer({ tasks: [task('c')], next_page: null }),
    ])
    const ids = (await Array.fromAsync(client.memory.listTasks())).map(({ taskId }) => taskId)
    expect(ids).toStrictEqual(['a', 'b', 'c'])
    expect(sent.map(({ url }) => new URL(url).search)).toStrictEqual(['?limit=1000', '?limit=1000&page=b'])
  })

  it('tell their turns by pages, and all', async () => {
    for (const turn of [3, 1, 2])
      await client.memory.putTurn({ ...ID, turn, meta: { turn } as TurnMeta, summaryMd: 's' })
    const first = await client.memory.getTask('task-42', { limit: 2 })
    expect(first).toMatchObject({
      taskId: 'task-42',
      turnCount: 3,
      turns: [{ turn: 1, meta: { turn: 1 } }, { turn: 2 }],
    })
    expect(first?.turns[0]).not.toHaveProperty('summaryMd')
    const second = await client.memory.getTask('task-42', { limit: 2, page: first?.nextPage ?? '' })
    expect(second).toMatchObject({ turns: [{ turn: 3 }], nextPage: null })
    expect((await Array.fromAsync(client.memory.listTurns('task-42'))).map(({ turn }) => turn)).toStrictEqual([1, 2, 3])
    expect(await Array.fromAsync(client.memory.listTurns('other'))).toStrictEqual([])
  })

  it('are deleted, again too', async () => {
    await client.memory.putTurn(ID)
    await client.memory.deleteTask('task-42')
    expect(await client.memory.getTurn(ID)).toBeNull()
    await client.memory.deleteTask('task-42')
  })
})

describe('project.md', () => {
  it('is a text or a stream', async () => {
    const { client, sent } = scripted([new Response('# Project memory\n'), new Response('# Project memory\n')])
    expect(await client.memory.projectMd()).toBe('# Project memory\n')
    expect(await new Response(await client.memory.projectMdStream()).text()).toBe('# Project memory\n')
    expect(sent.map(({ url }) => url)).toStrictEqual(
      Array.from({ length: 2 }, () => 'http://api.test/api/sandbox/memory/v1/project.md'),
    )
  })

  it('that is refused is no text', async () => {
    const { client } = scripted([refusal(403, 'forbidden'), refusal(403, 'forbidden')])
    await expect(client.memory.projectMd()).rejects.toMatchObject({ status: 403 })
    await expect(client.memory.projectMdStream()).rejects.toMatchObject({ status: 403 })
  })
})
