import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type SandkeepClient, SandkeepNetworkError } from '../../client/index.ts'
import { createBlobStore } from '../../src/blobs/store.ts'
import type { BlobBody, BlobExchange, BlobStore } from '../../src/blobs/types.ts'
import { BlobHashMismatchError, InvalidInputError } from '../../src/errors.ts'
import { startTestApi, type TestApi } from '../http/support/api.ts'
import { answer, refusal, scripted } from './support.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.stop())

const bytesOf = (text: string) => new TextEncoder().encode(text)
const keyOf = (content: string | Uint8Array) =>
  `sandbox-files/sha256/${createHash('sha256').update(content).digest('hex')}`

async function readAll(blob: BlobBody | null): Promise<ArrayBuffer> {
  if (!blob) throw new Error('The blob is missing.')
  return blob.arrayBuffer()
}

describe.each([
  ['in process', () => createBlobStore({ ...api.engines, scope: api.engines.freshScope() })],
  ['over HTTP', () => api.client().blobs],
])('a blob store %s', (_where, makeStore) => {
  let blobs: BlobStore & BlobExchange
  beforeEach(() => {
    blobs = makeStore()
  })

  it.each([0, 1, 100_000, 9_000_000])('keeps %d bytes', async (size) => {
    const content = new Uint8Array(size).fill(7)
    await blobs.put(keyOf(content), content)
    const blob = await blobs.get(keyOf(content))
    expect(blob?.size).toBe(size)
    expect(Buffer.from(await readAll(blob)).equals(content)).toBe(true)
    expect(await blobs.head(keyOf(content))).toStrictEqual({
      key: keyOf(content),
      size,
      uploadedAt: expect.any(Number),
    })
  })

  it('gives a blob as a stream', async () => {
    await blobs.put(keyOf('text'), bytesOf('text'))
    const stream = (await blobs.get(keyOf('text')))?.stream() ?? null
    expect(await new Response(stream).text()).toBe('text')
  })

  it('takes a part of a larger buffer as what it is', async () => {
    const part = bytesOf('--part--').subarray(2, 6)
    await blobs.put(keyOf('part'), part)
    expect(new TextDecoder().decode(await readAll(await blobs.get(keyOf('part'))))).toBe('part')
  })

  it('knows nothing of a missing blob', async () => {
    expect(await blobs.get(keyOf('missing'))).toBeNull()
    expect(await blobs.head(keyOf('missing'))).toBeNull()
    await blobs.delete(keyOf('missing'))
  })

  it('stores again what is there, and after it was deleted', async () => {
    for (let round = 0; round < 2; round++) {
      await blobs.put(keyOf('a'), bytesOf('a'))
      await blobs.put(keyOf('a'), bytesOf('a'))
      expect(await blobs.list('')).toHaveLength(1)
      await blobs.delete(keyOf('a'))
      expect(await blobs.list('')).toStrictEqual([])
    }
  })

  it('refuses bytes that do not hash to the key', async () => {
    await expect(blobs.put(keyOf('good'), bytesOf('evil'))).rejects.toThrow(BlobHashMismatchError)
    expect(await blobs.head(keyOf('good'))).toBeNull()
  })

  it.each(['', 'x', '../x', `sandbox-files/sha256/${'A'.repeat(64)}`, `other/sha256/${'a'.repeat(64)}`])(
    'refuses the key %j everywhere',
    async (key) => {
      for (const work of [blobs.get(key), blobs.head(key), blobs.delete(key), blobs.put(key, bytesOf('a'))]) {
        await expect(work).rejects.toThrow(InvalidInputError)
      }
    },
  )

  it('lists by prefix, in the order of the keys', async () => {
    for (const text of ['1', '2', '3']) await blobs.put(keyOf(text), bytesOf(text))
    const artifact = keyOf('4').replace('files', 'artifacts')
    await blobs.put(artifact, bytesOf('4'))
    const files = ['1', '2', '3'].map(keyOf).sort()
    expect((await blobs.list('')).map(({ key }) => key)).toStrictEqual([artifact, ...files])
    expect((await blobs.list('sandbox-files/')).map(({ key }) => key)).toStrictEqual(files)
    expect(await blobs.list('none')).toStrictEqual([])
  })

  it('prepares uploads and downloads in the order asked for', async () => {
    await blobs.put(keyOf('b'), bytesOf('b'))
    const uploads = await blobs.prepareUploads(['c', 'b', 'a'].map((text) => ({ key: keyOf(text), size: 1 })))
    expect(uploads.map(({ key }) => key)).toStrictEqual([keyOf('c'), keyOf('a')])
    const downloads = await blobs.prepareDownloads(['c', 'b', 'b'].map(keyOf))
    expect(downloads.map(({ key, download }) => [key, download?.method])).toStrictEqual([
      [keyOf('c'), undefined],
      [keyOf('b'), 'GET'],
      [keyOf('b'), 'GET'],
    ])
    expect(uploads[0]?.upload.expiresAt).toBeGreaterThan(Date.now())
  })

  it('takes 1 to 1,000 in one exchange', async () => {
    const keys = Array.from({ length: 1_001 }, (_, index) => keyOf(String(index)))
    const refused = { code: 'invalid_input' }
    await expect(blobs.prepareDownloads([])).rejects.toMatchObject(refused)
    await expect(blobs.prepareUploads([])).rejects.toMatchObject(refused)
    await expect(blobs.prepareDownloads(keys)).rejects.toMatchObject(refused)
    expect(await blobs.prepareUploads(keys.slice(1).map((key) => ({ key, size: 3 })))).toHaveLength(1_000)
  })
})

describe('over a storage that misbehaves', () => {
  const key = keyOf('text')
  const signed = {
    key,
    url: 'http://s3.test/object',
    headers: { 'content-length': '4', 'x-a': 'b' },
    expires_at: '2030-01-01T00:00:00.000Z',
  }
  const upload = () => answer({ missing: [{ ...signed, method: 'PUT' }] })
  const download = () => answer({ downloads: [{ ...signed, method: 'GET', headers: {}, size_bytes: 4 }], missing: [] })
  const put = (client: SandkeepClient) => client.blobs.put(key, bytesOf('text'))

  it('sends no more than the signed headers, and no key of ours', async () => {
    const { client, sent } = scripted([upload(), new Response('')])
    await put(client)
    expect(sent[1]).toMatchObject({ method: 'PUT', url: 'http://s3.test/object', body: 'text' })
    expect([...(sent[1]?.headers ?? [])]).toStrictEqual([['x-a', 'b']])
  })

  it('takes "there already" for success', async () => {
    const { client } = scripted([upload(), new Response('', { status: 412 })])
    await put(client)
  })

  it.each([409, 503])('uploads again after %d', async (status) => {
    const { client, sent } = scripted([upload(), new Response('', { status }), new Response('')])
    await put(client)
    expect(sent).toHaveLength(3)
  })

  it('tells why an upload was refused', async () => {
    const { client } = scripted([upload(), new Response('<Error><Code>AccessDenied</Code></Error>', { status: 403 })])
    await expect(put(client)).rejects.toMatchObject({
      name: 'SandkeepHttpError',
      status: 403,
      code: 'AccessDenied',
      message: expect.stringContaining('s3.test'),
    })
  })

  it('gives null for a blob that was deleted meanwhile', async () => {
    const { client } = scripted([download(), new Response('', { status: 404 })])
    expect(await client.blobs.get(key)).toBeNull()
  })

  it.each(['tex', 'texts', ''])('fails when %j comes for four bytes', async (text) => {
    const { client } = scripted([download(), new Response(text), download(), new Response(text)])
    await expect((await client.blobs.get(key))?.arrayBuffer()).rejects.toThrow(SandkeepNetworkError)
    const stream = (await client.blobs.get(key))?.stream()
    await expect(new Response(stream ?? null).text()).rejects.toThrow()
  })

  it('tells why a download was refused', async () => {
    const { client } = scripted([download(), refusal(403, 'x')])
    await expect(client.blobs.get(key)).rejects.toMatchObject({ status: 403 })
  })
})
