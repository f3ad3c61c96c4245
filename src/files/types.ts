import type { PresignedRequest } from '../blobs/types.ts'

export const FILE_SCOPES = ['user', 'app'] as const

/** Who sees a file: the user whose it is, or everybody in the app, which is a tenant and a project. */
export type FileScope = (typeof FILE_SCOPES)[number]

/** The owner of what is uploaded for nobody in particular, as a user of the app. */
export const APP_OWNER = 'owner'

/** A file as the API tells it. Times are in milliseconds since the epoch. */
export interface FileRecord {
  id: string
  filename: string
  mimeType: string
  sizeBytes: number
  createdAt: number
  /** What was uploaded cannot be downloaded; what a sandbox made can. */
  downloadable: boolean
  /** From then on it is as if deleted; null: never. */
  expiresAt: number | null
}

export interface NewFile {
  /** Its last path part is kept. */
  filename: string
  /** Such as `text/csv`; parameters are not kept. */
  mimeType: string
  scope: FileScope
  /** 3,600 to 7,776,000. Default: 30 days, and for ever for what a sandbox made. */
  expiresInSeconds?: number | undefined
  /** A sandbox made it. */
  fromSandbox: boolean
}

/** The bytes of a file, or where they are. */
export type FileContent = { kind: 'pieces'; pieces: AsyncIterable<Uint8Array> } | { kind: 'redirect'; url: string }

export interface FilePage {
  /** The newest first. */
  files: FileRecord[]
  nextPage: string | null
}

/**
 * The files that one user of one app sees: the user's own and the app's. Of all others nothing can be told from files
 * that never were: each of these throws the same NotFoundError.
 */
export interface FileStore {
  /** @throws InvalidInputError, PayloadTooLargeError over 32 MiB, UpstreamError */
  create(file: NewFile & { bytes: Uint8Array }): Promise<FileRecord>
  /**
   * A presigned upload of the bytes, which become a file when it is completed.
   * @throws InvalidInputError, PayloadTooLargeError over 32 MiB
   */
  startUpload(
    file: NewFile & { sizeBytes: number; sha256?: string | undefined },
  ): Promise<{ uploadId: string; request: PresignedRequest }>
  /**
   * Makes a file of an upload, once: again it gives the same file.
   * @throws NotFoundError unless this user began the upload less than 12 hours ago and its file is not deleted;
   * ConflictError `upload_incomplete` before the bytes are there; UpstreamError
   */
  completeUpload(uploadId: string): Promise<{ file: FileRecord; isNew: boolean }>
  /** 1 to 100 files, by default 20, and as many as asked for while there are some. @throws InvalidInputError */
  list(options?: { limit?: number | undefined; page?: string | undefined }): Promise<FilePage>
  /** @throws NotFoundError */
  get(id: string): Promise<FileRecord>
  /** @throws NotFoundError, ConflictError `file_not_downloadable`, UpstreamError */
  open(id: string, signal?: AbortSignal): Promise<{ file: FileRecord; content: FileContent }>
  /** @throws NotFoundError */
  delete(id: string): Promise<void>
}
