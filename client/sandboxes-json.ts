import type {
  CreateSandboxInput,
  SandboxRecord,
  SandboxSource,
  SnapshotManifest,
  SnapshotName,
  SnapshotRecord,
} from '../src/sandboxes/types.ts'

/** How sandboxes and snapshots stand in the API's JSON. */

interface NameJson {
  sandbox_id: string
  snapshot_seq: number
}

export interface SandboxJson {
  sandbox_id: string
  profile: string
  status: SandboxRecord['status']
  task_id: string | null
  workspace_key: string | null
  labels: Record<string, string>
  provider: string | null
  provider_sandbox_id: string | null
  source: ({ type: SandboxSource['type']; workspace_key: string | null } & Partial<NameJson>) | null
  restore: NameJson | null
  latest_snapshot_seq: number | null
  created_by: string
  created_at: string
  updated_at: string
  expires_at: string | null
}

export interface SnapshotJson extends NameJson {
  checkpoint_id: string
  workspace_key: string | null
  reason: SnapshotRecord['reason']
  label: string | null
  created_at: string
  latest: boolean
}

export type ManifestJson = SnapshotJson & Pick<SnapshotManifest, 'files' | 'artifacts' | 'conversation'>

export function createJson(input: Omit<CreateSandboxInput, 'by'>) {
  const { source } = input
  return {
    profile: input.profile,
    task_id: input.taskId,
    labels: input.labels,
    source: source && {
      type: source.type,
      workspace_key: source.workspaceKey,
      sandbox_id: source.sandboxId,
      snapshot_seq: source.snapshotSeq,
    },
    reuse: input.reuse,
    restore_latest: input.restoreLatest,
    ttl_seconds: input.ttlSeconds,
    provider: input.provider,
    provider_sandbox_id: input.providerSandboxId,
  }
}

export function readSandbox(json: SandboxJson): SandboxRecord {
  const { source, restore, expires_at } = json
  return {
    sandboxId: json.sandbox_id,
    profile: json.profile,
    status: json.status,
    taskId: json.task_id,
    workspaceKey: json.workspace_key,
    labels: json.labels,
    provider: json.provider,
    providerSandboxId: json.provider_sandbox_id,
    source: source && {
      type: source.type,
      workspaceKey: source.workspace_key,
      ...(source.sandbox_id !== undefined && { sandboxId: source.sandbox_id }),
      ...(source.snapshot_seq !== undefined && { snapshotSeq: source.snapshot_seq }),
    },
    restore: restore && readName(restore),
    latestSnapshotSeq: json.latest_snapshot_seq,
    createdBy: json.created_by,
    createdAt: Date.parse(json.created_at),
    updatedAt: Date.parse(json.updated_at),
    expiresAt: expires_at === null ? null : Date.parse(expires_at),
  }
}

export function readSnapshot(json: SnapshotJson): SnapshotRecord {
  return {
    ...readName(json),
    checkpointId: json.checkpoint_id,
    workspaceKey: json.workspace_key,
    reason: json.reason,
    label: json.label,
    createdAt: Date.parse(json.created_at),
    latest: json.latest,
  }
}

export function readManifest(json: ManifestJson): SnapshotManifest {
  const { files, artifacts, conversation } = json
  return { ...readSnapshot(json), files, artifacts, conversation }
}

function readName({ sandbox_id, snapshot_seq }: NameJson): SnapshotName {
  return { sandboxId: sandbox_id, snapshotSeq: snapshot_seq }
}
