import type { Checksum, ChecksumAlgorithm, ChecksumType } from '../checksums.ts'

/** A run of bytes that never changes; an object is one or more of them. */
export interface Piece {
  readonly id: string
  readonly size: number
}

export interface PieceWriter {
  write(chunk: Buffer): Promise<void> | void
  /** The piece, whole. Nothing refers to it before. */
  finish(): Promise<Piece>
  /** Gives up what was written. */
  discard(): Promise<void>
}

/** Where the bytes are. */
export interface PieceStore {
  create(): PieceWriter
  /** The bytes from `start` up to, not including, `end`. */
  read(piece: Piece, start: number, end: number): AsyncIterable<Buffer>
  /** As `read`, at once; for few bytes. */
  readAll(piece: Piece, start: number, end: number): Promise<Buffer>
  remove(id: string): Promise<void>
  /** Removes every piece that the set does not hold. */
  retainOnly(ids: ReadonlySet<string>): Promise<void>
}

export interface Tag {
  Key: string
  Value: string
}

/** What a writer may say of an object beside its bytes. */
export interface ObjectAttributes {
  /** Content-Type and the like, by lower-case name. */
  headers: Record<string, string>
  /** User metadata, by name without `x-amz-meta-`. */
  metadata: Record<string, string>
  tags: Tag[]
  storageClass: string
  encryption: string
}

export interface ObjectVersion extends ObjectAttributes {
  bucket: string
  key: string
  /** `null` where the bucket is not versioned. */
  versionId: string
  /** Later versions have higher numbers. */
  sequence: number
  deleteMarker: boolean
  /** Milliseconds since the epoch, in whole seconds. */
  lastModified: number
  size: number
  /** Without quotes. */
  etag: string
  pieces: Piece[]
  /** Of an object that was uploaded in parts, in the order of `pieces`. */
  parts?: Array<{ number: number; size: number; checksum?: string }>
  checksum?: Checksum
  /** The upload that it was completed from. */
  uploadId?: string
}

export interface UploadPart {
  uploadId: string
  number: number
  size: number
  etag: string
  lastModified: number
  piece: Piece
  checksum?: { algorithm: ChecksumAlgorithm; value: string }
}

export interface MultipartUpload extends ObjectAttributes {
  uploadId: string
  bucket: string
  key: string
  initiated: number
  checksumAlgorithm?: ChecksumAlgorithm
  checksumType?: ChecksumType
}

export interface BucketRecord {
  name: string
  created: number
  versioning?: 'Enabled' | 'Suspended'
  /** Documents such as the lifecycle, by the name of their query parameter. */
  documents: Record<string, string>
}

export interface StoredRecords {
  bucket: BucketRecord
  object: ObjectVersion
  upload: MultipartUpload
  part: UploadPart
}

/** Keeps the records that name the pieces. A save is atomic: after a kill a record is the old one or the new one. */
export interface RecordStore {
  save<Kind extends keyof StoredRecords>(kind: Kind, name: string, record: StoredRecords[Kind]): Promise<void>
  remove(kind: keyof StoredRecords, name: string): Promise<void>
  load<Kind extends keyof StoredRecords>(kind: Kind): StoredRecords[Kind][]
}
