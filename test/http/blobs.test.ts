import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SandkeepClient } from '../../client/index.ts'
import { BASE } from '../../lambdas/checkpoints/routes.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { startTestApi, type TestApi } from './support/api.ts'
import { checkpoint } from './support/checkpoint.ts'

let api: TestApi
let apiKey: string
let scope: Scope
let client: SandkeepClient
beforeAll(async () => {
  api = await startTestApi()
  apiKey = await api.createKey('project_admin')
})
afterAll(() => api.stop())
beforeEach(() => {
  scope = api.engines.freshScope()
  client = api.client({ apiKey, ...scope })
})

async function post(route: string, body: object, key = apiKey) {
  const response = await api.fetch(api.url + BASE + route, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': key,
      'x-sandbox-tenant-id': scope.tenant,
      'x-sandbox-project-id': scope.project,
    },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: JSON.parse(await response.text()) }
}

const bytesOf = (text: string) => new TextEncoder().encode(text)
const keyOf = (text: string) => `sandbox-files/sha256/${createHash('sha256').update(text).digest('hex')}`

describe('uploads', () => {
  it('are given for what is missing, once a key, in the order asked for', async () => {
    await client.blobs.put(keyOf('two'), bytesOf('two'))
    const asked = ['one', 'two', 'three', 'one'].map((text) => ({ key: keyOf(text), size_bytes: text.length }))
    const { status, body } = await post('/blobs/uploads', { blobs: asked })
    expect(status).toBe(200)
    expect(body).toStrictEqual({
      missing: [keyOf('one'), keyOf('three')].map((key) => ({
        key,
        method: 'PUT',
        url: expect.stringMatching(/^http:/),
        headers: expect.objectContaining({ 'if-none-match': '*' }),
        expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      })),
    })
    const left = Date.parse(body.missing[0].expires_at) - Date.now()
    expect(left).toBeGreaterThan(890_000)
    expect(left).toBeLessThanOrEqual(900_000)
  })

  it('take these bytes and no others', async () => {
    const { body } = await post('/blobs/uploads', { blobs: [{ key: keyOf('good'), size_bytes: 4 }] })
    const { method, url, headers } = body.missing[0]
    const { 'content-length': _length, ...sent } = headers
    const put = async (bytes: string, changed: object = {}) =>
      (await fetch(url, { method, headers: { ...sent, ...changed }, body: bytes })).status
    expect(await put('evil')).toBe(400)
    expect(await put('longer')).toBe(403)
    expect(await put('good', { 'content-type': 'text/html' })).toBe(403)
    expect(await put('good', { 'x-amz-checksum-sha256': createHash('sha256').update('evil').digest('base64') })).toBe(
      403,
    )
    expect(await client.blobs.head(keyOf('good'))).toBeNull()
    expect(await put('good')).toBe(200)
    expect(await put('good')).toBe(412)
  })

  it('are refused when one key has two sizes', async () => {
    const blobs = [1, 2].map((size_bytes) => ({ key: keyOf('x'), size_bytes }))
    expect(await post('/blobs/uploads', { blobs })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_input', field: 'blobs.1.size_bytes' } },
    })
  })
})

describe('downloads', () => {
  it('are given for what is there, and the rest is named', async () => {
    await client.blobs.put(keyOf('here'), bytesOf('here'))
    const { status, body } = await post('/blobs/downloads', { keys: [keyOf('gone'), keyOf('here')] })
    expect(status).toBe(200)
    expect(body).toStrictEqual({
      downloads: [
        {
          key: keyOf('here'),
          size_bytes: 4,
          method: 'GET',
          url: expect.stringMatching(/^http:/),
          headers: {},
          expires_at: expect.any(String),
        },
      ],
      missing: [keyOf('gone')],
    })
    expect(await (await fetch(body.downloads[0].url)).text()).toBe('here')
  })
})

describe('list', () => {
  it('gives the blobs of the scope below a prefix', async () => {
    await client.blobs.put(keyOf('a'), bytesOf('a'))
    await api.client().blobs.put(keyOf('b'), bytesOf('b'))
    const blob = { key: keyOf('a'), size_bytes: 1, uploaded_at: expect.stringMatching(/Z$/) }
    expect(await post('/blobs/list', { prefix: '' })).toStrictEqual({ status: 200, body: { blobs: [blob] } })
    expect((await post('/blobs/list', { prefix: 'sandbox-artifacts/' })).body).toStrictEqual({ blobs: [] })
  })
})

describe('delete', () => {
  it('deletes what no checkpoint uses, and is no error for what is not there', async () => {
    await client.blobs.put(keyOf('a'), bytesOf('a'))
    const keys = [keyOf('a'), keyOf('never')]
    expect(await post('/blobs/delete', { keys })).toStrictEqual({ status: 200, body: { deleted: keys, waiting: [] } })
    expect(await client.blobs.head(keyOf('a'))).toBeNull()
  })

  it('deletes nothing when a checkpoint uses one of them', async () => {
    await client.blobs.put(keyOf('free'), bytesOf('free'))
    await client.blobs.put(keyOf('used'), bytesOf('used'))
    const writer = await client.checkpoints.acquireWriter('t')
    const files = [{ path: 'x', kind: 'file' as const, blobKey: keyOf('used'), size: 4 }]
    await client.checkpoints.append({ checkpoint: checkpoint('a', 't', { files }), expectedHeadId: null, writer })
    expect(await post('/blobs/delete', { keys: [keyOf('free'), keyOf('used')] })).toMatchObject({
      status: 409,
      body: { error: { code: 'blob_in_use', field: 'keys.1' } },
    })
    expect(await client.blobs.list('')).toHaveLength(2)
    await client.checkpoints.deleteHead({ threadId: 't', checkpointId: 'a', writer })
    expect((await post('/blobs/delete', { keys: [keyOf('used')] })).status).toBe(200)
  })

  it('takes nothing from a writer who was told that it is there', async () => {
    await client.blobs.put(keyOf('a'), bytesOf('a'))
    const writer = await client.checkpoints.acquireWriter('t')
    expect(await client.blobs.prepareUploads([{ key: keyOf('a'), size: 1 }])).toEqual([])
    expect((await post('/blobs/delete', { keys: [keyOf('a')] })).body).toEqual({ deleted: [], waiting: [keyOf('a')] })
    const files = [{ path: 'x', kind: 'file' as const, blobKey: keyOf('a'), size: 1 }]
    await client.checkpoints.append({ checkpoint: checkpoint('a', 't', { files }), expectedHeadId: null, writer })
    await writer.release()
    await client.sweeps.start({ olderThanMs: 0 })
    const kept = await client.blobs.get(keyOf('a'))
    expect(new Uint8Array((await kept?.arrayBuffer()) ?? [])).toEqual(bytesOf('a'))
  })

  it('lets what waits for a lease go with a later sweep; until then it counts as missing', async () => {
    await client.blobs.put(keyOf('a'), bytesOf('a'))
    const writer = await client.checkpoints.acquireWriter('t')
    await client.blobs.delete(keyOf('a'))
    expect(await client.blobs.head(keyOf('a'))).toBeNull()
    await writer.release()
    await client.sweeps.start({ olderThanMs: 0 })
    expect(await client.blobs.list('')).toEqual([])
  })

  it('is not for writers', async () => {
    expect((await post('/blobs/delete', { keys: [keyOf('a')] }, await api.createKey('writer'))).status).toBe(403)
  })
})
