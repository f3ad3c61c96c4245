import type { SandboxRecord, SnapshotName, SnapshotRecord } from '../../src/sandboxes/types.ts'
import { timestamp } from '../shared/timestamp.ts'

export function shownSandbox(sandbox: SandboxRecord) {
  const { source, restore, expiresAt } = sandbox
  return {
    sandbox_id: sandbox.sandboxId,
    profile: sandbox.profile,
    status: sandbox.status,
    task_id: sandbox.taskId,
    workspace_key: sandbox.workspaceKey,
    labels: sandbox.labels,
    provider: sandbox.provider,
    provider_sandbox_id: sandbox.providerSandboxId,
    source: source && {
      type: source.type,
      workspace_key: source.workspaceKey,
      ...(source.sandboxId !== undefined && { sandbox_id: source.sandboxId, snapshot_seq: source.snapshotSeq }),
    },
    restore: restore && shownName(restore),
    latest_snapshot_seq: sandbox.latestSnapshotSeq,
    created_by: sandbox.createdBy.slice(sandbox.createdBy.indexOf(':') + 1),
    created_at: timestamp(sandbox.createdAt),
    updated_at: timestamp(sandbox.updatedAt),
    expires_at: expiresAt === null ? null : timestamp(expiresAt),
  }
}

export function shownSnapshot(snapshot: SnapshotRecord) {
  return {
    ...shownName(snapshot),
    checkpoint_id: snapshot.checkpointId,
    workspace_key: snapshot.workspaceKey,
    reason: snapshot.reason,
    label: snapshot.label,
    created_at: timestamp(snapshot.createdAt),
    latest: snapshot.latest,
  }
}

function shownName({ sandboxId, snapshotSeq }: SnapshotName) {
  return { sandbox_id: sandboxId, snapshot_seq: snapshotSeq }
}
