import type { SnapshotRecord } from '../sandboxes/types.ts'
import type { WorkspaceName } from './types.ts'

/** The workspace that a snapshot is of. */
export function workspaceOf({
  workspaceKey,
  sandboxId,
}: Pick<SnapshotRecord, 'workspaceKey' | 'sandboxId'>): WorkspaceName {
  return workspaceKey === null ? { sandboxId } : { workspaceKey }
}
