import { S3Error } from '../errors.ts'
import { KeyIndex } from './key-index.ts'
import { PieceLeases } from './leases.ts'
import { Locks } from './locks.ts'
import type {
  BucketRecord,
  MultipartUpload,
  ObjectVersion,
  Piece,
  PieceStore,
  RecordStore,
  UploadPart,
} from './types.ts'

export class Bucket {
  record: BucketRecord
  readonly objects = new KeyIndex()
  readonly uploads = new Map<string, { upload: MultipartUpload; parts: Map<number, UploadPart> }>()
  /** Writes that have begun to be recorded: the bucket is not empty, though nothing shows yet. */
  writing = 0

  constructor(record: BucketRecord) {
    this.record = record
  }
}

/** What is stored: held in memory, recorded in the record store before anybody sees it. */
export class Catalog {
  readonly pieces: PieceStore
  readonly leases: PieceLeases
  private readonly records: RecordStore
  private readonly buckets = new Map<string, Bucket>()
  private readonly locks = new Locks()
  private sequence = 0

  private constructor(records: RecordStore, pieces: PieceStore) {
    this.records = records
    this.pieces = pieces
    this.leases = new PieceLeases(pieces)
  }

  /** Reads the records and removes what a killed process left behind that no record names. */
  static async open(records: RecordStore, pieces: PieceStore): Promise<Catalog> {
    const catalog = new Catalog(records, pieces)
    const used = new Set<string>()
    for (const record of records.load('bucket')) catalog.buckets.set(record.name, new Bucket(record))
    const completed = new Set<string>()
    for (const version of records.load('object')) {
      catalog.buckets.get(version.bucket)?.objects.put(version)
      catalog.sequence = Math.max(catalog.sequence, version.sequence)
      for (const piece of version.pieces) used.add(piece.id)
      if (version.uploadId) completed.add(version.uploadId)
    }
    const owners = new Map<string, Bucket>()
    for (const upload of records.load('upload')) {
      const bucket = catalog.buckets.get(upload.bucket)
      if (completed.has(upload.uploadId) || !bucket) {
        await records.remove('upload', upload.uploadId)
        continue
      }
      bucket.uploads.set(upload.uploadId, { upload, parts: new Map() })
      owners.set(upload.uploadId, bucket)
    }
    for (const part of records.load('part')) {
      const parts = owners.get(part.uploadId)?.uploads.get(part.uploadId)?.parts
      parts?.set(part.number, part)
      if (parts) used.add(part.piece.id)
      else await records.remove('part', partName(part))
    }
    await pieces.retainOnly(used)
    return catalog
  }

  /** @throws S3Error NoSuchBucket */
  bucket(name: string): Bucket {
    const bucket = this.buckets.get(name)
    if (!bucket) throw new S3Error('NoSuchBucket', undefined, { BucketName: name })
    return bucket
  }

  has(name: string): boolean {
    return this.buckets.has(name)
  }

  bucketRecords(): BucketRecord[] {
    return [...this.buckets.values()].map((bucket) => bucket.record)
  }

  /** Creates a bucket, or changes what it says of itself. */
  async saveBucket(record: BucketRecord): Promise<void> {
    await this.records.save('bucket', record.name, record)
    const bucket = this.buckets.get(record.name)
    if (bucket) bucket.record = record
    else this.buckets.set(record.name, new Bucket(record))
  }

  /** @throws S3Error BucketNotEmpty */
  async deleteBucket(name: string): Promise<void> {
    const bucket = this.bucket(name)
    if (bucket.objects.size > 0 || bucket.writing > 0) throw new S3Error('BucketNotEmpty')
    this.buckets.delete(name)
    await this.records.remove('bucket', name)
    for (const uploadId of bucket.uploads.keys()) await this.deleteUpload(bucket, uploadId)
  }

  /** Runs a task that changes the key: no other change of the key goes on meanwhile. */
  exclusive<T>(bucket: string, key: string, task: (bucket: Bucket) => Promise<T>): Promise<T> {
    return this.locks.run(`${bucket}/${key}`, async () => {
      const current = this.bucket(bucket)
      current.writing++
      try {
        return await task(current)
      } finally {
        current.writing--
      }
    })
  }

  /** Within `exclusive`: records a version; it takes the place of the one with its id. */
  async putVersion(bucket: Bucket, content: Omit<ObjectVersion, 'sequence'>): Promise<ObjectVersion> {
    const version: ObjectVersion = { ...content, sequence: ++this.sequence }
    const replaced = bucket.objects.of(version.key).find((other) => other.versionId === version.versionId)
    await this.records.save('object', versionName(version), version)
    bucket.objects.put(version)
    if (replaced) await this.removePieces(replaced, version.pieces)
    return version
  }

  /** Within `exclusive`: changes what a version says of itself; its bytes and its place among the others stay. */
  async changeVersion(bucket: Bucket, version: ObjectVersion): Promise<void> {
    await this.records.save('object', versionName(version), version)
    bucket.objects.put(version)
  }

  /** Within `exclusive`. */
  async deleteVersion(bucket: Bucket, version: ObjectVersion): Promise<void> {
    await this.records.remove('object', versionName(version))
    bucket.objects.remove(version.key, version.versionId)
    await this.removePieces(version, [])
  }

  async putUpload(bucket: Bucket, upload: MultipartUpload): Promise<void> {
    await this.records.save('upload', upload.uploadId, upload)
    bucket.uploads.set(upload.uploadId, { upload, parts: new Map() })
  }

  /** Within `exclusive` of the upload's key. */
  async putPart(bucket: Bucket, part: UploadPart): Promise<void> {
    const parts = bucket.uploads.get(part.uploadId)?.parts
    if (!parts) throw new S3Error('NoSuchUpload')
    const replaced = parts.get(part.number)
    await this.records.save('part', partName(part), part)
    parts.set(part.number, part)
    if (replaced) await this.leases.remove([replaced.piece])
  }

  /** Ends an upload; removes its parts but those pieces that an object has taken over. */
  async deleteUpload(bucket: Bucket, uploadId: string, keep: readonly Piece[] = []): Promise<void> {
    const parts = bucket.uploads.get(uploadId)?.parts
    if (!bucket.uploads.delete(uploadId)) return
    await this.records.remove('upload', uploadId)
    const kept = new Set(keep.map((piece) => piece.id))
    for (const part of parts?.values() ?? []) {
      await this.records.remove('part', partName(part))
      if (!kept.has(part.piece.id)) await this.leases.remove([part.piece])
    }
  }

  private async removePieces(version: ObjectVersion, keep: readonly Piece[]): Promise<void> {
    const kept = new Set(keep.map((piece) => piece.id))
    await this.leases.remove(version.pieces.filter((piece) => !kept.has(piece.id)))
  }
}

function versionName(version: { bucket: string; key: string; versionId: string }): string {
  return `${version.bucket}/${version.versionId}/${version.key}`
}

function partName(part: { uploadId: string; number: number }): string {
  return `${part.uploadId}/${part.number}`
}
