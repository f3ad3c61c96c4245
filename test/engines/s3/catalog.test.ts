import { expect, test } from 'vitest'
import { commitVersion } from '../../../local/s3/operations/store.ts'
import { Catalog } from '../../../local/s3/storage/catalog.ts'
import { MemoryPieces, noRecords } from '../../../local/s3/storage/memory.ts'
import type { ObjectVersion, Piece, RecordStore, StoredRecords } from '../../../local/s3/storage/types.ts'

const content = {
  bucket: 'b',
  key: 'k',
  lastModified: 0,
  size: 0,
  etag: 'e',
  pieces: [],
  headers: {},
  metadata: {},
  tags: [],
  storageClass: 'STANDARD',
  encryption: 'AES256',
} satisfies Omit<ObjectVersion, 'sequence' | 'versionId' | 'deleteMarker'>

async function storeBytes(pieces: MemoryPieces, text: string): Promise<Piece> {
  const writer = pieces.create()
  await writer.write(Buffer.from(text))
  return writer.finish()
}

test('of two conditional puts whose records take long to write, one wins', async () => {
  let finishSave = () => {
    // Replaced when a record is saved.
  }
  const slow: RecordStore = {
    ...noRecords,
    save: (kind) => (kind === 'object' ? new Promise<void>((resolve) => (finishSave = resolve)) : Promise.resolve()),
  }
  const catalog = await Catalog.open(slow, new MemoryPieces())
  await catalog.saveBucket({ name: 'b', created: 0, documents: {} })
  const onlyNew = { 'if-none-match': '*' }
  const first = commitVersion(catalog, onlyNew, { ...content, etag: 'first' })
  const second = commitVersion(catalog, onlyNew, { ...content, etag: 'second' })
  expect(catalog.bucket('b').objects.current('k')).toBeUndefined()
  await expect(catalog.deleteBucket('b')).rejects.toMatchObject({ code: 'BucketNotEmpty' })
  finishSave()
  await first
  await expect(second).rejects.toMatchObject({ code: 'PreconditionFailed' })
  expect(catalog.bucket('b').objects.current('k')?.etag).toBe('first')
})

test('an upload whose object was recorded before a kill is over, and the bytes are the object’s', async () => {
  const pieces = new MemoryPieces()
  const used = await storeBytes(pieces, 'used')
  const unused = await storeBytes(pieces, 'unused')
  const { headers, metadata, tags, storageClass, encryption } = content
  const upload = {
    uploadId: 'u',
    bucket: 'b',
    key: 'k',
    initiated: 0,
    headers,
    metadata,
    tags,
    storageClass,
    encryption,
  }
  const part = { uploadId: 'u', size: 4, etag: 'e', lastModified: 0 }
  const version = { ...content, pieces: [used], uploadId: 'u', versionId: 'null', sequence: 1, deleteMarker: false }
  const left: { [Kind in keyof StoredRecords]: StoredRecords[Kind][] } = {
    bucket: [{ name: 'b', created: 0, documents: {} }],
    object: [version],
    upload: [upload],
    part: [
      { ...part, number: 1, piece: used },
      { ...part, number: 2, piece: unused },
    ],
  }
  const catalog = await Catalog.open({ ...noRecords, load: (kind) => left[kind] }, pieces)
  expect(catalog.bucket('b').uploads.size).toBe(0)
  expect((await pieces.readAll(used, 0, 4)).toString()).toBe('used')
  expect(await pieces.readAll(unused, 0, 6)).toHaveLength(0)
})
