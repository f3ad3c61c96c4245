import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { DeleteObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { memoryObjectPrefix } from '../../src/blobs/object-keys.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { injectFaults, after as meanwhile } from '../store/support/faults.ts'
import { startTestApi, type TestApi } from './support/api.ts'
import { BASE, type Call, memoryCaller } from './support/memory.ts'

let api: TestApi
let apiKey: string
let scope: Scope
let call: Call
beforeAll(async () => {
  api = await startTestApi()
  apiKey = await api.createKey('writer')
})
afterAll(() => api.stop())
beforeEach(() => {
  scope = api.engines.freshScope()
  call = memoryCaller(api, apiKey, scope)
})

const TURN = '/tasks/task-42/turns/1'
const PATH = `${TURN}/artifacts/trajectory.jsonl`
const LIMIT = 4_194_304
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

describe('PUT and GET of an artifact', () => {
  it('keep the bytes and the type', async () => {
    const bytes = Buffer.from([0, 255, 10, 13, 128, 0])
    const type = 'application/x-ndjson; charset="utf-8"'
    const written = await call('PUT', PATH, { body: bytes, headers: { 'content-type': type } })
    expect(written.status).toBe(200)
    expect(written.json).toStrictEqual({
      name: 'trajectory.jsonl',
      size_bytes: 6,
      content_type: type,
      sha256: sha256(bytes),
      created_at: time,
      updated_at: time,
    })
    const read = await call('GET', PATH)
    expect(read.status).toBe(200)
    expect(read.bytes).toStrictEqual(bytes)
    expect(Object.fromEntries(read.headers)).toMatchObject({
      'content-type': type,
      etag: `"${sha256(bytes)}"`,
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
    })
  })

  it('make the turn with empty meta when it is not there', async () => {
    const { json: artifact } = await call('PUT', PATH, { body: Buffer.from('x') })
    expect((await call('GET', TURN)).json).toMatchObject({ meta: {}, summary_md: '', artifacts: [artifact] })
    expect((await call('GET', '/tasks/task-42')).json).toMatchObject({ turn_count: 1, latest_turn: 1 })
  })

  it('replace bytes and type at once', async () => {
    const first = await call('PUT', PATH, { body: Buffer.from('old'), headers: { 'content-type': 'text/old' } })
    const second = await call('PUT', PATH, { body: Buffer.from('newer'), headers: { 'content-type': 'text/new' } })
    expect(second.json).toMatchObject({ created_at: first.json.created_at, size_bytes: 5 })
    const read = await call('GET', PATH)
    expect([read.text, read.headers.get('content-type')]).toStrictEqual(['newer', 'text/new'])
    expect((await call('GET', TURN)).json.artifacts).toStrictEqual([second.json])
  })

  it.each([
    [undefined, 'application/octet-stream'],
    ['', 'application/octet-stream'],
    ['application/json', 'application/json'],
    ['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded'],
    ['text/html', 'text/html'],
    ['no type at all', 'no type at all'],
    ['a/b; c="~!@#$%^&*()"', 'a/b; c="~!@#$%^&*()"'],
    ['x'.repeat(256), 'x'.repeat(256)],
  ])('keep the type %j as %j', async (sent, stored) => {
    const headers: Record<string, string> = sent === undefined ? {} : { 'content-type': sent }
    const written = await call('PUT', PATH, { body: Buffer.from('{'), headers })
    expect([written.status, written.json.content_type]).toStrictEqual([200, stored])
    const read = await call('GET', PATH)
    expect([read.text, read.headers.get('content-type')]).toStrictEqual(['{', stored])
  })

  it.each(['text/é', 'text/\u00a0plain', 'a\tb', 'x'.repeat(257)])('refuse the type %j', async (type) => {
    const { status, json } = await call('PUT', PATH, { body: Buffer.from('x'), headers: { 'content-type': type } })
    expect([status, json.error.code, json.error.field]).toStrictEqual([400, 'invalid_input', 'content-type'])
    expect((await call('GET', TURN)).status).toBe(404)
  })

  it.each(['a', 'A.b_c-9', '...', '.hidden', '-', '_', 'a'.repeat(128)])('take the name %s', async (name) => {
    expect((await call('PUT', `${TURN}/artifacts/${name}`, { body: Buffer.from('x') })).json.name).toBe(name)
    expect((await call('GET', `${TURN}/artifacts/${name}`)).text).toBe('x')
  })

  it.each(['a'.repeat(129), 'a b', 'a%20b', 'a+b', 'a%2Fb', 'é', '%E2%82%AC', 'a%00', 'a:b', 'a*'])(
    'refuse the name %s',
    async (name) => {
      for (const [method, suffix] of [
        ['PUT', ''],
        ['GET', ''],
        ['POST', '/upload'],
        ['POST', `/upload/${randomUUID()}/complete`],
      ] as const) {
        const body = method === 'GET' ? {} : { body: { size_bytes: 1 } }
        const answer = await call(method, `${TURN}/artifacts/${name}${suffix}`, body)
        expect([answer.status, answer.json.error.field], method).toStrictEqual([400, 'name'])
      }
    },
  )

  it('are found again when they were replaced, and the old bytes removed, on the way', async () => {
    const { s3, bucketName } = api.engines
    await call('PUT', PATH, { body: Buffer.from('old') })
    const replace = async () => {
      const { Contents = [] } = await s3.send(
        new ListObjectsV2Command({ Bucket: bucketName, Prefix: memoryObjectPrefix(scope) }),
      )
      await call('PUT', PATH, { body: Buffer.from('new') })
      await s3.send(new DeleteObjectCommand({ Bucket: bucketName, Key: Contents[0]?.Key }))
    }
    using faults = injectFaults(s3, 'GetObject', [meanwhile(replace)])
    expect(await call('GET', PATH)).toMatchObject({ status: 200, text: 'new' })
    expect(faults.seen).toBe(2)
  })

  it('know no name with a slash', async () => {
    expect((await call('PUT', `${TURN}/artifacts/a/b`, { body: Buffer.from('x') })).status).toBe(404)
    expect((await call('PUT', `${TURN}/artifacts/`, { body: Buffer.from('x') })).status).toBe(404)
  })

  it('are 404 for what is not there', async () => {
    await call('PUT', PATH, { body: Buffer.from('x') })
    for (const path of [
      `${TURN}/artifacts/other`,
      '/tasks/task-42/turns/2/artifacts/trajectory.jsonl',
      '/tasks/o/turns/1/artifacts/a',
    ]) {
      expect(await call('GET', path)).toMatchObject({
        status: 404,
        json: { error: { code: 'not_found', message: 'Not found.' } },
      })
    }
  })
})

describe('sizes', () => {
  it('of nothing work', async () => {
    const written = await call('PUT', PATH)
    expect(written.json).toMatchObject({ size_bytes: 0, sha256: sha256(Buffer.alloc(0)) })
    const read = await call('GET', PATH)
    expect([read.status, read.bytes.length]).toStrictEqual([200, 0])
  })

  it('of 4 MiB go directly, and one byte more is 413 with the path to go', async () => {
    const bytes = randomBytes(LIMIT)
    expect((await call('PUT', PATH, { body: bytes })).json).toMatchObject({ size_bytes: LIMIT })
    const read = await call('GET', PATH)
    expect(read.status).toBe(200)
    expect(read.bytes.equals(bytes)).toBe(true)
    const { status, json } = await call('PUT', PATH, { body: Buffer.concat([bytes, Buffer.from('x')]) })
    expect([status, json.error.code]).toStrictEqual([413, 'payload_too_large'])
    expect(json.error.upload).toBe(`${BASE}${PATH}/upload`)
  })
})

describe('an upload', () => {
  const start = (body: object) => call('POST', `${PATH}/upload`, { body })
  const send = (upload: { method: string; url: string; headers: Record<string, string> }, bytes: Uint8Array) => {
    const { 'content-length': _length, ...headers } = upload.headers
    return fetch(upload.url, { method: upload.method, headers, body: bytes as Uint8Array<ArrayBuffer> })
  }
  const complete = (id: string, path = PATH) => call('POST', `${path}/upload/${id}/complete`)

  it('carries what is too large for a request, and is there when it is complete', async () => {
    const bytes = randomBytes(LIMIT + 1)
    const hash = sha256(bytes)
    const started = await start({ size_bytes: bytes.length, content_type: 'image/png', sha256: hash.toUpperCase() })
    expect(started.status).toBe(201)
    expect(started.json).toStrictEqual({
      upload_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      method: 'PUT',
      url: expect.stringContaining('X-Amz-Signature'),
      headers: expect.objectContaining({ 'content-type': 'image/png', 'content-length': String(bytes.length) }),
      expires_at: time,
    })
    const early = await complete(started.json.upload_id)
    expect([early.status, early.json.error.code]).toStrictEqual([409, 'upload_incomplete'])
    expect((await call('GET', PATH)).status).toBe(404)
    expect((await send(started.json, bytes)).status).toBe(200)
    expect((await call('GET', PATH)).status).toBe(404)

    const done = await complete(started.json.upload_id)
    expect([done.status, done.json]).toStrictEqual([
      200,
      {
        name: 'trajectory.jsonl',
        size_bytes: bytes.length,
        content_type: 'image/png',
        sha256: hash,
        created_at: time,
        updated_at: time,
      },
    ])
    expect(await complete(started.json.upload_id)).toMatchObject({ status: 200, json: done.json })

    const read = await call('GET', PATH)
    expect(read.status).toBe(307)
    expect(read.json).toStrictEqual({ location: read.headers.get('location'), ...done.json })
    const followed = await fetch(read.headers.get('location') ?? '')
    expect(followed.headers.get('content-type')).toBe('image/png')
    expect(Buffer.from(await followed.arrayBuffer()).equals(bytes)).toBe(true)
  })

  it('is hashed here when its hash was not told', async () => {
    const started = await start({ size_bytes: 3 })
    expect((await send(started.json, Buffer.from('abc'))).status).toBe(200)
    expect((await complete(started.json.upload_id)).json).toMatchObject({
      sha256: sha256(Buffer.from('abc')),
      content_type: 'application/octet-stream',
    })
    expect((await call('GET', PATH)).text).toBe('abc')
  })

  it('of nothing, and of 50 MiB, may be begun, of one byte more not', async () => {
    expect((await start({ size_bytes: 0 })).status).toBe(201)
    expect((await start({ size_bytes: 52_428_800 })).status).toBe(201)
    const { status, json } = await start({ size_bytes: 52_428_801 })
    expect([status, json.error.code, json.error.field]).toStrictEqual([413, 'payload_too_large', 'size_bytes'])
  })

  it('does not take other bytes than those that were told', async () => {
    const started = await start({ size_bytes: 3, sha256: sha256(Buffer.from('abc')) })
    expect((await send(started.json, Buffer.from('abd'))).status).toBe(400)
    expect((await complete(started.json.upload_id)).status).toBe(409)
  })

  it.each<[object, string]>([
    [{}, 'size_bytes'],
    [{ size_bytes: -1 }, 'size_bytes'],
    [{ size_bytes: 1.5 }, 'size_bytes'],
    [{ size_bytes: '1' }, 'size_bytes'],
    [{ size_bytes: null }, 'size_bytes'],
    [{ size_bytes: 1, content_type: 'é' }, 'content_type'],
    [{ size_bytes: 1, content_type: '' }, 'content_type'],
    [{ size_bytes: 1, content_type: 'a\r\nb: c' }, 'content_type'],
    [{ size_bytes: 1, content_type: 'x'.repeat(257) }, 'content_type'],
    [{ size_bytes: 1, content_type: 5 }, 'content_type'],
    [{ size_bytes: 1, sha256: 'x' }, 'sha256'],
    [{ size_bytes: 1, sha256: `${'a'.repeat(64)}\n` }, 'sha256'],
    [{ size_bytes: 1, sha256: null }, 'sha256'],
    [{ size_bytes: 1, name: 'a' }, 'name'],
    [[], 'body'],
  ])('%j is refused, naming %s', async (body, field) => {
    const { status, json } = await start(body)
    expect([status, json.error.code, json.error.field]).toStrictEqual([400, 'invalid_input', field])
  })

  it('is refused when a field stands twice', async () => {
    const { status, json } = await call('POST', `${PATH}/upload`, {
      body: '{"size_bytes":1,"size_bytes":2}',
      headers: { 'content-type': 'application/json' },
    })
    expect([status, json.error.field]).toStrictEqual([400, 'size_bytes'])
  })

  it('is known under its own artifact and in its own scope only', async () => {
    const started = await start({ size_bytes: 1 })
    await send(started.json, Buffer.from('x'))
    const id = started.json.upload_id
    const foreign = memoryCaller(api, apiKey, api.engines.freshScope())
    const answers = [
      await complete(randomUUID()),
      await complete('x'),
      await complete('x'.repeat(2_000)),
      await complete(id, `${TURN}/artifacts/other`),
      await complete(id, '/tasks/task-42/turns/2/artifacts/trajectory.jsonl'),
      await complete(id, '/tasks/other/turns/1/artifacts/trajectory.jsonl'),
      await foreign('POST', `${PATH}/upload/${id}/complete`),
    ]
    for (const { status, json } of answers) {
      expect([status, json.error.code]).toStrictEqual([404, 'not_found'])
      expect(json).toStrictEqual(answers[0]?.json)
    }
    expect((await complete(id)).status).toBe(200)
  })

  it('is completed with or without a body and a type', async () => {
    for (const headers of [{}, { 'content-type': 'application/json' }, { 'content-type': 'text/plain' }]) {
      const started = await start({ size_bytes: 1 })
      await send(started.json, Buffer.from('x'))
      const path = `${PATH}/upload/${started.json.upload_id}/complete`
      expect((await call('POST', path, { headers })).status).toBe(200)
    }
  })
})

describe('a range of an artifact', () => {
  const get = (headers: Record<string, string>) => call('GET', PATH, { headers })
  const etag = `"${sha256(Buffer.from('0123456789'))}"`
  beforeEach(async () => {
    await call('PUT', PATH, { body: Buffer.from('0123456789'), headers: { 'content-type': 'text/plain' } })
  })

  it.each([
    ['bytes=0-0', '0', 'bytes 0-0/10'],
    ['bytes=2-5', '2345', 'bytes 2-5/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=8-100', '89', 'bytes 8-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=-100', '0123456789', 'bytes 0-9/10'],
  ])('%s is 206', async (range, text, contentRange) => {
    const answer = await get({ range })
    expect([answer.status, answer.text]).toStrictEqual([206, text])
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-range': contentRange,
      'content-type': 'text/plain',
      etag,
    })
  })

  it.each(['bytes=10-', 'bytes=-0', 'bytes=99-100'])('%s is 416', async (range) => {
    const answer = await get({ range })
    expect([answer.status, answer.bytes.length, answer.headers.get('content-range')]).toStrictEqual([
      416,
      0,
      'bytes */10',
    ])
  })

  it.each(['bytes=3-1', 'bytes=0-1,4-5', 'bytes=x', 'items=0-1', ''])('%s is ignored', async (range) => {
    const answer = await get({ range })
    expect([answer.status, answer.text, answer.headers.has('content-range')]).toStrictEqual([200, '0123456789', false])
  })

  it('is given for the tag of If-Range, and the whole for another', async () => {
    expect((await get({ range: 'bytes=0-1', 'if-range': etag })).status).toBe(206)
    for (const other of ['"other"', `W/${etag}`, 'Wed, 04 Nov 2026 10:00:00 GMT']) {
      expect((await get({ range: 'bytes=0-1', 'if-range': other })).status, other).toBe(200)
    }
  })

  it.each([etag, `W/${etag}`, `"a", ${etag}`, '*'])('and If-None-Match: %s is 304', async (value) => {
    const answer = await get({ range: 'bytes=0-1', 'if-none-match': value })
    expect([answer.status, answer.bytes.length, answer.headers.get('etag')]).toStrictEqual([304, 0, etag])
  })

  it.each(['"other"', sha256(Buffer.from('0123456789')), ''])('and If-None-Match: %j is not', async (value) => {
    expect((await get({ 'if-none-match': value })).status).toBe(200)
  })

  it('of a large artifact is asked of the storage', async () => {
    const bytes = randomBytes(LIMIT + 1)
    const { json: upload } = await call('POST', `${PATH}/upload`, { body: { size_bytes: bytes.length } })
    const { 'content-length': _length, ...headers } = upload.headers
    await fetch(upload.url, { method: 'PUT', headers, body: bytes })
    await call('POST', `${PATH}/upload/${upload.upload_id}/complete`)
    const answer = await get({ range: 'bytes=0-1' })
    expect(answer.status).toBe(307)
    const part = await fetch(answer.headers.get('location') ?? '', { headers: { range: 'bytes=0-1' } })
    expect([part.status, Buffer.from(await part.arrayBuffer())]).toStrictEqual([206, bytes.subarray(0, 2)])
    expect((await get({ 'if-none-match': `"${sha256(bytes)}"` })).status).toBe(304)
  })
})
