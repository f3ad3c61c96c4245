import type { TransactAction } from '../table/table.ts'
import type { FileContent, FileRecord } from './types.ts'

/** Where the bytes of a file are. */
export type BackendName = 's3' | 'anthropic'

/** A file before it has an id. */
export interface NewContent {
  filename: string
  mimeType: string
  sizeBytes: number
  /** null: it does not expire. */
  expiresInSeconds: number | null
}

/** Bytes that lie with a backend. Until they have a record nobody sees them, and a sweep removes them in the end. */
export interface StoredContent {
  id: string
  /** Go into the transaction that makes the record. */
  actions: TransactAction[]
  /** To be done when the record is there. */
  settle?(): Promise<void>
  /** To be done when the record was refused. */
  abandon?(): Promise<void>
}

/** What a backend knows of a file, besides its place in the table. */
export type Description = Omit<FileRecord, 'id' | 'createdAt'>

/** Keeps the bytes of files. Who may see them is not its concern. */
export interface FilesBackend {
  store(content: NewContent, bytes: Uint8Array): Promise<StoredContent>
  /** Takes over what was uploaded to an object of the bucket. */
  adopt(content: NewContent, objectKey: string): Promise<StoredContent>
  /** The bytes; null when the backend has no such file any more. */
  open(file: FileRecord, signal?: AbortSignal): Promise<FileContent | null>
  /** What it knows of a file that somebody else put there; null when there is none. */
  describe(id: string): Promise<Description | null>
  /** One that is not there is no error. */
  remove(id: string): Promise<void>
}

export type Backends = { s3: FilesBackend; anthropic?: FilesBackend }
