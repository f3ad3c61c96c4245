import { createHash } from 'node:crypto'
import { afterAll, describe, expect } from 'vitest'
import { createBlobStore } from '../../src/blobs/store.ts'
import type { PresignedRequest } from '../../src/blobs/types.ts'
import { BlobHashMismatchError, InvalidInputError } from '../../src/errors.ts'
import { startEngines } from '../support/engines.ts'
import { check } from './support/check.ts'
import { send } from './support/send.ts'

const engines = await startEngines()
afterAll(engines.stop)

const freshBlobs = () => createBlobStore({ ...engines, scope: engines.freshScope() })

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function fileKeyOf(bytes: Uint8Array): string {
  return `sandbox-files/sha256/${hashOf(bytes)}`
}

const bytes = new Uint8Array([0, 1, 2, 255, 10, 13])
const key = fileKeyOf(bytes)

describe('blobs', () => {
  check('come back as they were put, with size and time', async () => {
    const blobs = freshBlobs()
    const artifactKey = `sandbox-artifacts/sha256/${hashOf(bytes)}`
    const before = Date.now()
    await blobs.put(key, bytes)
    await blobs.put(artifactKey, bytes)
    for (const known of [key, artifactKey]) {
      const blob = await blobs.get(known)
      expect(blob?.size).toBe(bytes.length)
      expect(new Uint8Array((await blob?.arrayBuffer()) ?? [])).toEqual(bytes)
      const info = await blobs.head(known)
      expect(info).toEqual({ key: known, size: bytes.length, uploadedAt: expect.any(Number) })
      // S3 tells whole seconds.
      expect(info?.uploadedAt).toBeGreaterThan(before - 1_001)
      expect(info?.uploadedAt).toBeLessThanOrEqual(Date.now())
    }
    const stream = (await blobs.get(key))?.stream()
    expect(new Uint8Array(await new Response(stream).arrayBuffer())).toEqual(bytes)
  })

  check('of 0 bytes are blobs', async () => {
    const blobs = freshBlobs()
    const empty = new Uint8Array()
    const emptyKey = fileKeyOf(empty)
    expect(await blobs.head(emptyKey)).toBeNull()
    await blobs.put(emptyKey, empty)
    expect(await blobs.head(emptyKey)).toMatchObject({ size: 0 })
    expect((await (await blobs.get(emptyKey))?.arrayBuffer())?.byteLength).toBe(0)
    expect(await blobs.list('')).toMatchObject([{ key: emptyKey, size: 0 }])
  })

  check('of many megabytes come back', async () => {
    const blobs = freshBlobs()
    const large = new Uint8Array(24 * 1024 * 1024).fill(7)
    await blobs.put(fileKeyOf(large), large)
    const read = new Uint8Array((await (await blobs.get(fileKeyOf(large)))?.arrayBuffer()) ?? [])
    expect(hashOf(read)).toBe(hashOf(large))
  })

  check('that are part of a larger buffer are stored as that part', async () => {
    const blobs = freshBlobs()
    const part = new TextEncoder().encode('..part..').subarray(2, 6)
    await blobs.put(fileKeyOf(part), part)
    const read = await (await blobs.get(fileKeyOf(part)))?.arrayBuffer()
    expect(new TextDecoder().decode(read)).toBe('part')
  })

  check('are refused when they do not hash to the key, and nothing is stored', async () => {
    const blobs = freshBlobs()
    await expect(blobs.put(key, new Uint8Array([1]))).rejects.toThrow(BlobHashMismatchError)
    expect(await blobs.list('')).toEqual([])
    await blobs.put(key, bytes)
    await expect(blobs.put(key, new Uint8Array())).rejects.toMatchObject({ code: 'blob_hash_mismatch', status: 400 })
    expect(await blobs.head(key)).toMatchObject({ size: bytes.length })
  })

  check('are put any number of times, at once too', async () => {
    const blobs = freshBlobs()
    await Promise.all(Array.from({ length: 20 }, () => blobs.put(key, bytes)))
    await blobs.put(key, bytes)
    expect(await blobs.list('')).toHaveLength(1)
  })

  check('that are missing are null, and deleting them is no error', async () => {
    const blobs = freshBlobs()
    expect(await blobs.get(key)).toBeNull()
    expect(await blobs.head(key)).toBeNull()
    await blobs.delete(key)
    await blobs.put(key, bytes)
    await blobs.delete(key)
    await blobs.delete(key)
    expect(await blobs.get(key)).toBeNull()
    expect(await blobs.list('')).toEqual([])
  })

  const hex = 'a'.repeat(64)
  const badKeys: unknown[] = [
    '',
    hex,
    `sandbox-files/sha256/${hex}\n`,
    `sandbox-files/sha256/${hex}0`,
    `sandbox-files/sha256/${hex.toUpperCase()}`,
    `sandbox-files/sha256/../${hex}`,
    `/sandbox-files/sha256/${hex}`,
    `sandbox-other/sha256/${hex}`,
    `sandbox-files/sha1/${hex}`,
    undefined,
    null,
    7,
  ]
  check('have keys of the contract only', async () => {
    const blobs = freshBlobs()
    for (const bad of badKeys as string[]) {
      const calls = {
        get: () => blobs.get(bad),
        head: () => blobs.head(bad),
        put: () => blobs.put(bad, bytes),
        delete: () => blobs.delete(bad),
        prepareUploads: () => blobs.prepareUploads([{ key: bad, size: 1 }]),
        prepareDownloads: () => blobs.prepareDownloads([bad]),
      }
      for (const [name, call] of Object.entries(calls)) {
        await expect(call(), `${name}(${bad})`).rejects.toThrow(InvalidInputError)
      }
    }
  })

  check('are all listed by prefix, 1,001 too, in the order of their keys', async () => {
    const blobs = freshBlobs()
    const contents = Array.from({ length: 1_001 }, (_, index) => Buffer.from(`blob ${index}`))
    const keys = contents.map(fileKeyOf).sort()
    const todo = contents.values()
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (const content of todo) await blobs.put(fileKeyOf(content), content)
      }),
    )
    await blobs.put(`sandbox-artifacts/sha256/${hashOf(bytes)}`, bytes)
    expect((await blobs.list('sandbox-files/')).map((blob) => blob.key)).toEqual(keys)
    expect(await blobs.list('sandbox-artifacts/')).toHaveLength(1)
    expect(await blobs.list('')).toHaveLength(1_002)
    const half = keys.filter((one) => one.startsWith('sandbox-files/sha256/0'))
    expect((await blobs.list('sandbox-files/sha256/0')).map((blob) => blob.key)).toEqual(half)
    expect(await blobs.list('sandbox-files/sha256/x')).toEqual([])
  })
})

describe('uploads', () => {
  const other = Buffer.from('another content')
  const otherKey = fileKeyOf(other)

  async function prepared(): Promise<{ blobs: ReturnType<typeof freshBlobs>; upload: PresignedRequest }> {
    const blobs = freshBlobs()
    const [first] = await blobs.prepareUploads([{ key, size: bytes.length }])
    if (!first) throw new Error('No upload')
    return { blobs, upload: first.upload }
  }

  check('are given for what is missing, in the order asked, once a key', async () => {
    const blobs = freshBlobs()
    const third = Buffer.from('third')
    await blobs.put(otherKey, other)
    const uploads = await blobs.prepareUploads([
      { key: fileKeyOf(third), size: third.length },
      { key: otherKey, size: other.length },
      { key, size: bytes.length },
      { key: fileKeyOf(third), size: third.length },
    ])
    expect(uploads.map((upload) => upload.key)).toEqual([fileKeyOf(third), key])
  })

  check('take the bytes with exactly the headers given', async () => {
    const { blobs, upload } = await prepared()
    expect(upload.method).toBe('PUT')
    expect(upload.expiresAt - Date.now()).toBeGreaterThan(890_000)
    expect(upload.expiresAt - Date.now()).toBeLessThanOrEqual(900_000)
    expect((await send(upload, bytes)).status).toBe(200)
    expect(await blobs.head(key)).toMatchObject({ size: bytes.length })
    expect((await send(upload, bytes)).status, 'a second upload of the same').toBe(412)
    expect(await blobs.prepareUploads([{ key, size: bytes.length }])).toEqual([])
  })

  check('of 0 bytes are taken', async () => {
    const blobs = freshBlobs()
    const empty = new Uint8Array()
    const [first] = await blobs.prepareUploads([{ key: fileKeyOf(empty), size: 0 }])
    if (!first) throw new Error('No upload')
    expect((await send(first.upload, empty)).status).toBe(200)
    expect(await blobs.head(fileKeyOf(empty))).toMatchObject({ size: 0 })
  })

  check('refuse bytes of another hash', async () => {
    const { blobs, upload } = await prepared()
    const { status } = await send(upload, new Uint8Array([9, 9, 9, 9, 9, 9]))
    expect(status).toBe(400)
    expect(await blobs.head(key)).toBeNull()
  })

  check('refuse bytes whose size was claimed wrong', async () => {
    const blobs = freshBlobs()
    const [claimed] = await blobs.prepareUploads([{ key, size: bytes.length - 1 }])
    if (!claimed) throw new Error('No upload')
    const { upload } = claimed
    const honest = { ...upload, headers: { ...upload.headers, 'content-length': String(bytes.length) } }
    expect((await send(honest, bytes)).status).toBe(403)
    expect((await send(upload, bytes.subarray(0, bytes.length - 1))).status).toBe(400)
    expect(await blobs.head(key)).toBeNull()
  })

  check('refuse to go without any of their headers, or to another key', async () => {
    const { blobs, upload } = await prepared()
    for (const name of ['content-type', 'x-amz-checksum-sha256', 'if-none-match']) {
      const headers = { ...upload.headers }
      delete headers[name]
      expect((await send({ ...upload, headers }, bytes)).status, name).toBe(403)
    }
    const changed = { ...upload, headers: { ...upload.headers, 'content-type': 'text/html' } }
    expect((await send(changed, bytes)).status).toBe(403)
    const moved = { ...upload, url: upload.url.replace(hashOf(bytes), hashOf(other)) }
    expect((await send(moved, bytes)).status).toBe(403)
    expect(await blobs.list('')).toEqual([])
  })

  check('are for 1 to 1,000 blobs of a size that can be', async () => {
    const blobs = freshBlobs()
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ key: fileKeyOf(Buffer.from(`${index}`)), size: 1 }))
    await expect(blobs.prepareUploads([])).rejects.toMatchObject({ field: 'blobs' })
    await expect(blobs.prepareUploads(many(1_001))).rejects.toMatchObject({ field: 'blobs', status: 400 })
    expect(await blobs.prepareUploads(many(1_000))).toHaveLength(1_000)
    for (const size of [-1, 0.5, Number.NaN, 5_368_709_121, '1' as unknown as number]) {
      await expect(blobs.prepareUploads([...many(1), { key, size }])).rejects.toMatchObject({ field: 'blobs[1].size' })
    }
    const twoSizes = [
      { key, size: 1 },
      { key, size: 2 },
    ]
    await expect(blobs.prepareUploads(twoSizes)).rejects.toMatchObject({ field: 'blobs[1].size' })
  })
})

describe('downloads', () => {
  check('give the bytes, and null for what is missing, in the order asked', async () => {
    const blobs = freshBlobs()
    await blobs.put(key, bytes)
    const missing = `sandbox-files/sha256/${'0'.repeat(64)}`
    const [first, second, third] = await blobs.prepareDownloads([missing, key, key])
    expect(first).toEqual({ key: missing, download: null })
    expect(second).toMatchObject({ key, size: bytes.length, download: { method: 'GET', headers: {} } })
    expect(third).toMatchObject({ key, size: bytes.length })
    if (!second?.download) throw new Error('No download')
    const answer = await send(second.download)
    expect(answer).toEqual({ status: 200, bytes: Buffer.from(bytes) })
  })

  check('of one key give no other', async () => {
    const blobs = freshBlobs()
    const other = Buffer.from('another content')
    await blobs.put(key, bytes)
    await blobs.put(fileKeyOf(other), other)
    const [first] = await blobs.prepareDownloads([key])
    if (!first?.download) throw new Error('No download')
    const moved = { ...first.download, url: first.download.url.replace(hashOf(bytes), hashOf(other)) }
    expect((await send(moved)).status).toBe(403)
  })

  check('are for 1 to 1,000 keys', async () => {
    const blobs = freshBlobs()
    const keys = (count: number) => Array.from({ length: count }, (_, index) => fileKeyOf(Buffer.from(`${index}`)))
    await expect(blobs.prepareDownloads([])).rejects.toMatchObject({ field: 'keys' })
    await expect(blobs.prepareDownloads(keys(1_001))).rejects.toMatchObject({ field: 'keys', status: 400 })
    expect(await blobs.prepareDownloads(keys(1_000))).toHaveLength(1_000)
  })
})
