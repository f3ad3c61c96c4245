/**
 * The checkpoint store contract: data shapes and interfaces.
 *
 * The shapes follow the public sandbox checkpoint contract member by member, so that a store from this package and any
 * other implementation of the contract are interchangeable by structure.
 */

/** A regular file of the workspace. Its bytes are the blob `blobKey`. */
export interface SandboxSnapshotFileEntry {
  path: string
  kind: 'file'
  /** `sandbox-files/sha256/<64 lowercase hex digits>` */
  blobKey: string
  /** Bytes. */
  size: number
  /** Permission bits, 0 to 0o7777. Absent means that the writer did not record them. */
  mode?: number
}

/** A directory. Parents of other entries need no entry of their own. */
export interface SandboxSnapshotDirectoryEntry {
  path: string
  kind: 'dir'
}

/** A symbolic link; `target` is kept as it was, wherever it points. */
export interface SandboxSnapshotSymlinkEntry {
  path: string
  kind: 'symlink'
  target: string
}

export type SandboxSnapshotEntry =
  | SandboxSnapshotFileEntry
  | SandboxSnapshotDirectoryEntry
  | SandboxSnapshotSymlinkEntry

export interface SandboxSnapshotArtifact {
  artifactId: string
  name: string
  mimeType: string
  /** Bytes. */
  size: number
  /** `sandbox-artifacts/sha256/<64 lowercase hex digits>` */
  blobKey: string
  createdAt: number
}

export interface SandboxCheckpoint {
  /** Unique across all threads of the scope. */
  id: string
  threadId: string
  parentCheckpointId: string | null
  /** Any finite number; by custom milliseconds since the epoch. */
  createdAt: number
  reason: 'automatic' | 'named' | 'fork-root'
  label?: string
  sourceRunId?: string
  files: ReadonlyArray<SandboxSnapshotEntry>
  /** Opaque JSON values. */
  conversation: ReadonlyArray<unknown>
  artifacts: ReadonlyArray<SandboxSnapshotArtifact>
}

/** What a write presents to prove that it holds the thread. A lease is one, and so is a plain object. */
export interface SandboxCheckpointWriter {
  threadId: string
  ownerToken: string
  /** Grows with each lease of the thread, for ever. */
  fence: number
}

export interface SandboxCheckpointWriterLease extends SandboxCheckpointWriter {
  /** Milliseconds; live: shows the new value after `renew`. At `now === expiresAt` the lease is expired. */
  readonly expiresAt: number
  renewAfterMs: number
  /** Extension of the contract: the thread's head when the lease was taken. While it lasts, only its holder moves it. */
  readonly headId?: string | null
  renew(): Promise<{ expiresAt: number }>
  /** Never throws for a lease that was lost or released already. */
  release(): Promise<void>
}

export interface SandboxCheckpointStoreOptions {
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: () => number
  /** Default 120,000. */
  leaseDurationMs?: number
  /** Default 45,000; less than `leaseDurationMs`. */
  renewAfterMs?: number
}

export interface SandboxCheckpointAppendInput {
  checkpoint: SandboxCheckpoint
  expectedHeadId: string | null
  writer: SandboxCheckpointWriter
  /**
   * Extension of the contract: a random name of this one write. A repeat with the same token after a lost answer is
   * answered as the first was, instead of DUPLICATE_ID. Default: a fresh one for each call.
   */
  requestToken?: string
}

export interface SandboxCheckpointDeleteHeadInput {
  threadId: string
  checkpointId: string
  writer: SandboxCheckpointWriter
  /** As for append. */
  requestToken?: string
}

export interface SandboxCheckpointForkInput {
  sourceThreadId: string
  sourceCheckpointId: string
  destinationThreadId: string
  destinationCheckpointId: string
  createdAt: number
  /** A lease of the destination thread. */
  writer: SandboxCheckpointWriter
  /** As for append. */
  requestToken?: string
}

export interface SandboxCheckpointDeleteInput {
  threadId: string
  /** How many checkpoints stay, the head counted. An integer of at least 1. */
  keep: number
  writer: SandboxCheckpointWriter
}

export interface SandboxBlobReference {
  key: string
  /** The number of committed checkpoints that use the key: exact, above 0. */
  references: number
}

export interface SandboxCheckpointStore {
  get(id: string): Promise<SandboxCheckpoint | null>
  /** By `createdAt`, then by the UTF-8 bytes of the id. */
  list(threadId: string): Promise<SandboxCheckpoint[]>
  getHead(threadId: string): Promise<string | null>
  append(input: SandboxCheckpointAppendInput): Promise<{ headId: string }>
  deleteHead(input: SandboxCheckpointDeleteHeadInput): Promise<void>
  acquireWriter(threadId: string, options?: { ownerToken?: string }): Promise<SandboxCheckpointWriterLease>
  /** All threads of the scope together, by the UTF-8 bytes of the key. */
  listBlobReferences(): Promise<SandboxBlobReference[]>
  forkFromCheckpoint(input: SandboxCheckpointForkInput): Promise<{ checkpoint: SandboxCheckpoint }>
  /** Keeps the head and the newest before it along the parent chain. `deleted`: ids, oldest first. */
  deleteCheckpoints(input: SandboxCheckpointDeleteInput): Promise<{ deleted: string[] }>
}
