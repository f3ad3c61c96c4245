/** The provider's sandbox of a key. */
export interface SandboxInstanceRecord {
  key: string
  provider: string
  providerSandboxId: string
  latestSnapshotId?: string
  threadId: string
  latestRunId?: string
  /** Milliseconds since the epoch. */
  updatedAt: number
}

export interface SandboxInstanceStore {
  /** The record, or null. */
  get(key: string): Promise<SandboxInstanceRecord | null>
  /** Replaces the whole record: optional fields that are left out are cleared. */
  upsert(record: SandboxInstanceRecord): Promise<void>
  /** Deleting a missing key is no error. */
  delete(key: string): Promise<void>
}
