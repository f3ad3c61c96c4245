import type { PresignedRequest } from '../blobs/types.ts'

/** What a task remembers of one turn. Times are milliseconds since the epoch. */
export interface TurnRecord {
  taskId: string
  /** 0 to 9999. */
  turn: number
  /** A JSON object, as the text that was written, without insignificant white space. */
  meta: string
  summaryMd: string
  /** In the order of their names. */
  artifacts: ArtifactRecord[]
  createdAt: number
  updatedAt: number
  /** The task's. */
  retainUntil: number
}

/** A turn as its task's page of turns tells it. */
export type TurnOverview = Omit<TurnRecord, 'summaryMd'>

export interface ArtifactRecord {
  name: string
  sizeBytes: number
  contentType: string
  /** 64 lowercase hex digits. */
  sha256: string
  /** When the name was first written; replacing the bytes keeps it. */
  createdAt: number
  updatedAt: number
}

/** An artifact and the object of the bucket that holds its bytes. The object never changes. */
export interface StoredArtifact extends ArtifactRecord {
  objectKey: string
}

export interface TaskRecord {
  taskId: string
  /** The highest turn. */
  latestTurn: number
  turnCount: number
  /** Who wrote its first turn: an owner text, such as `user:…` or `key:…`. */
  createdBy: string
  createdAt: number
  updatedAt: number
  /** From this time on the task is not found. Each write moves it. */
  retainUntil: number
}

export interface TurnId {
  taskId: string
  turn: number
}

export interface ArtifactId extends TurnId {
  name: string
}

export interface TurnWrite extends TurnId {
  /** The text of a JSON object: parsed, checked and compact. At most `MAX_META_BYTES` of UTF-8. */
  meta: string
  /** Well-formed Unicode, at most `MAX_SUMMARY_BYTES` of UTF-8. */
  summary: string
  /** Only where there is no such turn yet. Default: false. */
  ifAbsent?: boolean | undefined
  /** The writer's owner text. */
  by: string
}

export interface ArtifactWrite extends ArtifactId {
  /** At most `MAX_ARTIFACT_BYTES`. */
  bytes: Uint8Array
  contentType: string
  by: string
}

export interface ArtifactUpload extends ArtifactId {
  sizeBytes: number
  contentType: string
  /** Hex. Without it the bytes are hashed when the upload is completed. */
  sha256?: string | undefined
  by: string
}

/** The bytes from `start` to `end`, both included. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * The memory of one project: turns and artifacts of tasks. Every method throws `InvalidInputError` naming the field
 * (`task_id`, `turn`, `name`, `meta`, `summary_md`, `content_type`, `size_bytes`, `sha256`, `limit`) that breaks a rule,
 * and `UnavailableError` when the storage stays busy. An expired task is as one that never was.
 */
export interface MemoryStore {
  /**
   * Writes a turn, or replaces its meta and summary; its artifacts stay.
   * @throws PayloadTooLargeError naming `meta` or `summary_md`
   * @throws PreconditionFailedError `turn_exists` where it was to be written only if absent
   */
  putTurn(write: TurnWrite): Promise<TurnRecord>
  getTurn(id: TurnId): Promise<TurnRecord | null>
  /**
   * Writes an artifact, or replaces its bytes and type at once. A turn that is not there is made, with empty meta.
   * @throws PayloadTooLargeError naming `size_bytes`
   * @throws ConflictError `too_many_artifacts` over `MAX_ARTIFACTS` names in a turn
   */
  putArtifact(write: ArtifactWrite): Promise<ArtifactRecord>
  findArtifact(id: ArtifactId): Promise<StoredArtifact | null>
  /**
   * The bytes, or a range within them, which must lie within `sizeBytes`. Null when the artifact has gone since it was found.
   */
  readArtifact(stored: StoredArtifact, range?: ByteRange): Promise<Uint8Array | null>
  /** A download, which answers with the artifact's content type. */
  presignArtifact(stored: StoredArtifact): Promise<PresignedRequest>
  /**
   * Begins an upload straight to the bucket. The artifact is there when the upload is completed, not before.
   * @throws PayloadTooLargeError naming `size_bytes`
   */
  startUpload(upload: ArtifactUpload): Promise<{ uploadId: string; request: PresignedRequest }>
  /**
   * Makes the uploaded bytes the artifact. Repeated, it answers as the first time and changes nothing.
   * @throws NotFoundError when no such upload was begun for this artifact in the last 12 hours
   * @throws ConflictError `upload_incomplete` when the bytes are not there, or not those that were announced;
   *   `too_many_artifacts`
   */
  completeUpload(id: ArtifactId & { uploadId: string; by: string }): Promise<ArtifactRecord>
  /** Up to `limit` (1 to 1,000) tasks behind the task id `after`. `next`: where the next page begins, if there is one. */
  listTasks(page: { limit: number; after?: string | undefined }): Promise<{ tasks: TaskRecord[]; next: string | null }>
  /**
   * A task with up to `limit` (1 to 1,000) turns above the turn `after`, in ascending order. A page ends early when its
   * turns pass about `maxBytes` of JSON, but not before the first. Null: no such task.
   */
  getTask(page: {
    taskId: string
    limit: number
    after?: number | undefined
    maxBytes?: number | undefined
  }): Promise<{ task: TaskRecord; turns: TurnOverview[]; next: number | null } | null>
  /**
   * Removes a task with all that belongs to it; what is written after it stays. A task that is gone is no error.
   * @param mayDelete is asked with the owner text of who created the task
   * @throws ForbiddenError when `mayDelete` says no
   */
  deleteTask(request: { taskId: string; mayDelete: (createdBy: string) => boolean }): Promise<void>
  /** The project's memory as one Markdown document, in pieces, the task with the newest update first. */
  projectMd(): AsyncIterable<string>
}
