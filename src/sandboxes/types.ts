import type { SandboxSnapshotArtifact, SandboxSnapshotEntry } from '../checkpoints/types.ts'

/**
 * Sandboxes, the snapshots of their workspaces, and the latest workspace of each task. Times are milliseconds since the
 * epoch.
 */

export const SANDBOX_STATUSES = ['running', 'stopped', 'expired', 'destroyed'] as const
export type SandboxStatus = (typeof SANDBOX_STATUSES)[number]

export const SNAPSHOT_REASONS = ['stop', 'autosave', 'expiry', 'destroy', 'push'] as const
export type SnapshotReason = (typeof SNAPSHOT_REASONS)[number]

export const SOURCE_TYPES = ['workspace_latest', 'snapshot'] as const
export type SourceType = (typeof SOURCE_TYPES)[number]

/** Names a snapshot. */
export interface SnapshotName {
  sandboxId: string
  snapshotSeq: number
}

/** What a sandbox was created from. Without a `sandboxId` there was no snapshot yet: an empty workspace. */
export interface SandboxSource extends Partial<SnapshotName> {
  type: SourceType
  /** The workspace key that the snapshot is of; null for one of a sandbox without a key. */
  workspaceKey: string | null
}

export interface SandboxRecord {
  sandboxId: string
  profile: string
  status: SandboxStatus
  taskId: string | null
  /** The task that the sandbox belongs to, by `taskId` or by a label; null for none. */
  workspaceKey: string | null
  labels: Record<string, string>
  provider: string | null
  providerSandboxId: string | null
  source: SandboxSource | null
  /** What to fill the workspace with on the next start: the sandbox's own latest snapshot, else the pinned source. */
  restore: SnapshotName | null
  latestSnapshotSeq: number | null
  createdBy: string
  createdAt: number
  updatedAt: number
  /** Null: it does not expire. */
  expiresAt: number | null
}

export interface SourceInput extends Partial<SnapshotName> {
  type: SourceType
  workspaceKey?: string | undefined
}

export interface CreateSandboxInput {
  profile: string
  taskId?: string | undefined
  labels?: Record<string, string> | undefined
  source?: SourceInput | undefined
  /** Take a running or stopped sandbox with the same profile, workspace key, labels and provider, if there is one. */
  reuse?: boolean | undefined
  /** Without a source, begin a new sandbox from the workspace key's latest snapshot, if there is one. */
  restoreLatest?: boolean | undefined
  /** Default: it does not expire. */
  ttlSeconds?: number | undefined
  provider?: string | undefined
  providerSandboxId?: string | undefined
  /** Who creates it. */
  by: string
}

export interface SaveSnapshotInput {
  reason: SnapshotReason
  files: ReadonlyArray<SandboxSnapshotEntry>
  artifacts?: ReadonlyArray<SandboxSnapshotArtifact> | undefined
  conversation?: ReadonlyArray<unknown> | undefined
  label?: string | undefined
  /**
   * Becomes the latest of its workspace key only if this snapshot is the latest until then; null: only if there is none.
   * Saved it is in any case.
   */
  ifLatest?: SnapshotName | null | undefined
  /** A random name of this one save: a repeat with it is answered as the first was. */
  requestToken?: string | undefined
}

export interface SnapshotRecord extends SnapshotName {
  checkpointId: string
  /** Of the sandbox. */
  workspaceKey: string | null
  reason: SnapshotReason
  label: string | null
  createdAt: number
  /** Whether it is what the workspace key's next sandbox starts from. */
  latest: boolean
}

/** A snapshot with what the workspace held. */
export interface SnapshotManifest extends SnapshotRecord {
  files: ReadonlyArray<SandboxSnapshotEntry>
  artifacts: ReadonlyArray<SandboxSnapshotArtifact>
  conversation: ReadonlyArray<unknown>
}

export interface ListSandboxesInput {
  /** Only those of this workspace key. */
  taskId?: string | undefined
  status?: SandboxStatus | undefined
  limit: number
  /** The `next` of the page before. */
  after?: string | undefined
}

/** The sandboxes of one scope. Unknown ids, those of other scopes and those past their retention answer alike. */
export interface SandboxStore {
  /**
   * @throws InvalidInputError naming the field; NotFoundError when the snapshot that the source names is not there.
   */
  create(input: CreateSandboxInput): Promise<{ sandbox: SandboxRecord; reused: boolean }>
  get(sandboxId: string): Promise<SandboxRecord | null>
  /** Newest first. @throws InvalidInputError for an `after` that is none. */
  list(input: ListSandboxesInput): Promise<{ sandboxes: SandboxRecord[]; next: string | null }>
  /** @throws NotFoundError; ConflictError naming the state when it is expired or destroyed. */
  stop(sandboxId: string): Promise<SandboxRecord>
  /** @throws as `stop` */
  start(sandboxId: string): Promise<SandboxRecord>
  /** Has it expire in `ttlSeconds` from now, or never. @throws as `stop` */
  renew(sandboxId: string, ttlSeconds?: number): Promise<SandboxRecord>
  /** Destroying what is destroyed succeeds. @throws NotFoundError; ForbiddenError when `mayDestroy` says no. */
  destroy(sandboxId: string, mayDestroy: (sandbox: SandboxRecord) => boolean): Promise<void>
  /**
   * Saves a checkpoint of the workspace, whose blobs were uploaded before.
   * @throws SandboxCheckpointInvalidEntryError; NotFoundError; ConflictError when the sandbox is past saving;
   *   BlobsMissingError
   */
  saveSnapshot(sandboxId: string, input: SaveSnapshotInput): Promise<SnapshotRecord>
  /** In the order of their saving. @throws NotFoundError, InvalidInputError for an `after` that is none. */
  listSnapshots(
    sandboxId: string,
    input: { limit: number; after?: string | undefined },
  ): Promise<{ snapshots: SnapshotRecord[]; next: string | null }>
  getSnapshot(sandboxId: string, snapshotSeq: number): Promise<SnapshotManifest | null>
}
