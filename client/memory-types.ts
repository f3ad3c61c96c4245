import type { ArtifactRecord, TaskRecord } from '../src/memory/types.ts'
import type { ArtifactContent } from './artifact-content.ts'

/** What the meta of a turn may hold. The named fields have these types; any other is kept as it is. */
export interface TurnMeta {
  agent_id?: string | null
  model?: string | null
  job_id?: string | null
  sandbox_id?: string | null
  commit?: string | null
  exit_code?: number | null
  started_at?: string | null
  ended_at?: string | null
  tokens?: { input?: number | null; output?: number | null; [more: string]: unknown } | null
  cost?: number | null
  claude_session_id?: string | null
  [more: string]: unknown
}

export type Artifact = ArtifactRecord
/** `createdBy` is the `sub` of the token, or the id of the API key. */
export type Task = TaskRecord

/** A turn as a page of its task's turns tells it. Times are milliseconds since the epoch. */
export interface TurnOverview {
  taskId: string
  turn: number
  /** Parsed: integers beyond 2^53 and numbers of more digits than a double holds are rounded. */
  meta: TurnMeta
  /** The same meta as the JSON text that was written, without insignificant white space: nothing of it is lost. */
  metaJson: string
  artifacts: Artifact[]
  createdAt: number
  updatedAt: number
  /** The task's. */
  retainUntil: number
}

export interface Turn extends TurnOverview {
  summaryMd: string
}

export interface TurnId {
  taskId: string
  /** 0 to 9999. */
  turn: number
}

export interface ArtifactId extends TurnId {
  name: string
}

export interface PutTurnInput extends TurnId {
  /** At most 65,536 bytes as compact JSON. Default: empty. */
  meta?: TurnMeta
  /** The meta as JSON text, for what numbers of JavaScript cannot hold; this or `meta`. */
  metaJson?: string
  /** At most 1,048,576 bytes of UTF-8. Default: empty. */
  summaryMd?: string
  /** Only where there is no such turn yet. Default: false. */
  ifAbsent?: boolean
}

export interface PutArtifactInput extends ArtifactId {
  content: ArtifactContent
  /** Default: the type of a Blob, else `application/octet-stream`. */
  contentType?: string
  /** Told of the bytes that are on their way; a repeat begins again at 0. */
  onProgress?: (progress: { sentBytes: number; totalBytes: number }) => void
}

/** An artifact's bytes, read once, by one of the two. */
export interface ArtifactBody {
  contentType: string
  sizeBytes: number
  /** 64 lowercase hex digits. */
  sha256: string
  arrayBuffer(): Promise<ArrayBuffer>
  stream(): ReadableStream<Uint8Array>
}

export interface TasksPage {
  tasks: Task[]
  /** For the next call; null on the last page. */
  nextPage: string | null
}

export interface TaskPage extends Task {
  turns: TurnOverview[]
  /** For the next call; null on the last page. */
  nextPage: string | null
}

export interface PageOptions {
  /** 1 to 1,000. Default 100. */
  limit?: number
  /** `nextPage` of the page before. */
  page?: string
}
