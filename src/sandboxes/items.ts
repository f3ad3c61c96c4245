import type { Item } from '../table/table.ts'
import type { SandboxRecord, SandboxSource, SandboxStatus, SnapshotName, SnapshotReason } from './types.ts'

/** The items of the table that sandboxes are made of. */

/** A snapshot with the checkpoint that it is. */
export interface SnapshotPlace extends SnapshotName {
  checkpointId: string
}

/** A save of late: what a repeat of it is known by. */
export interface RecentSave {
  token: string
  snapshotSeq: number
}

export interface SandboxState {
  sandboxId: string
  profile: string
  /** As it was last written: expiry comes by itself, and `statusAt` tells of it. */
  status: SandboxStatus
  taskId?: string
  workspaceKey?: string
  /** The place among the sandboxes of its workspace key, from 1, by the order of their creation. */
  order?: number
  labels: Record<string, string>
  provider?: string
  providerSandboxId?: string
  source?: SandboxSource
  /** The snapshot of another sandbox that this one keeps from being removed. */
  pin?: SnapshotPlace
  fingerprint: string
  createdBy: string
  createdAt: number
  updatedAt: number
  expiresAt?: number
  /** When it was destroyed, or the expiry that was made final. */
  endedAt?: number
  /** The last sequence given to a snapshot; 0 for none. */
  snapshotSeq: number
  /** The checkpoint of that snapshot. */
  checkpointId?: string
  /** The newest last. */
  recentSaves: RecentSave[]
  /** The sweep is removing it: nothing of it may be saved any more. */
  purging?: true
}

export interface SnapshotItem extends SnapshotPlace {
  reason: SnapshotReason
  label?: string
  createdAt: number
  workspaceKey?: string
  /** How many sandboxes were created from it that are still there. */
  pins: number
}

export interface WorkspaceState {
  /** The place of the newest sandbox. */
  order: number
  latest?: SnapshotPlace & { order: number }
}

/** A document in one attribute, beside the attributes that conditions look at. */
export function sandboxAttributes(state: SandboxState): Item {
  const { profile, taskId, labels, provider, providerSandboxId, source, createdBy, createdAt, fingerprint } = state
  const fixed = { profile, taskId, labels: Object.entries(labels), provider, providerSandboxId, source, createdBy }
  return {
    fixed: JSON.stringify({ ...fixed, createdAt, fingerprint }),
    status: state.status,
    workspace: state.workspaceKey,
    order: state.order,
    ...(state.pin && {
      pinned: state.pin.sandboxId,
      pinnedSeq: state.pin.snapshotSeq,
      pinnedId: state.pin.checkpointId,
    }),
    updatedAt: state.updatedAt,
    expiresAt: state.expiresAt,
    seq: state.snapshotSeq,
    saves: JSON.stringify(state.recentSaves),
  }
}

export function readSandbox(item: Item): SandboxState {
  const { labels, ...fixed } = JSON.parse(item.fixed as string) as Omit<SandboxState, 'labels'> & {
    labels: [string, string][]
  }
  const optional = {
    workspaceKey: item.workspace,
    order: item.order,
    expiresAt: item.expiresAt,
    endedAt: item.endedAt,
    checkpointId: item.checkpointId,
    purging: item.purging,
    ...(item.pinned !== undefined && {
      pin: { sandboxId: item.pinned, snapshotSeq: item.pinnedSeq, checkpointId: item.pinnedId },
    }),
  }
  return {
    ...fixed,
    labels: Object.fromEntries(labels),
    ...(Object.fromEntries(
      Object.entries(optional).filter(([, value]) => value !== undefined),
    ) as Partial<SandboxState>),
    sandboxId: item.sk as string,
    status: item.status as SandboxStatus,
    updatedAt: item.updatedAt as number,
    snapshotSeq: item.seq as number,
    recentSaves: JSON.parse(item.saves as string) as RecentSave[],
  }
}

export function snapshotAttributes(snapshot: SnapshotItem): Item {
  const { sandboxId, snapshotSeq, checkpointId, reason, label, createdAt, workspaceKey, pins } = snapshot
  return { sandboxId, seq: snapshotSeq, checkpointId, reason, label, createdAt, workspace: workspaceKey, pins }
}

export function readSnapshot(item: Item): SnapshotItem {
  return {
    sandboxId: item.sandboxId as string,
    snapshotSeq: item.seq as number,
    checkpointId: item.checkpointId as string,
    reason: item.reason as SnapshotReason,
    createdAt: item.createdAt as number,
    pins: item.pins as number,
    ...(item.label !== undefined && { label: item.label as string }),
    ...(item.workspace !== undefined && { workspaceKey: item.workspace as string }),
  }
}

export function readWorkspace(item: Item): WorkspaceState {
  const order = item.order as number
  if (item.latestOrder === undefined) return { order }
  return {
    order,
    latest: {
      sandboxId: item.latestSandbox as string,
      snapshotSeq: item.latestSeq as number,
      checkpointId: item.latestId as string,
      order: item.latestOrder as number,
    },
  }
}

/** A sandbox as it is at a time. */
export function sandboxRecord(state: SandboxState, now: number): SandboxRecord {
  const { sandboxId, snapshotSeq } = state
  return {
    sandboxId,
    profile: state.profile,
    status: statusAt(state, now),
    taskId: state.taskId ?? null,
    workspaceKey: state.workspaceKey ?? null,
    labels: state.labels,
    provider: state.provider ?? null,
    providerSandboxId: state.providerSandboxId ?? null,
    source: state.source ?? null,
    restore: restoreOf(state),
    latestSnapshotSeq: snapshotSeq === 0 ? null : snapshotSeq,
    createdBy: state.createdBy,
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    expiresAt: state.expiresAt ?? null,
  }
}

function restoreOf({ sandboxId, snapshotSeq, pin }: SandboxState): SnapshotName | null {
  if (snapshotSeq > 0) return { sandboxId, snapshotSeq }
  return pin ? { sandboxId: pin.sandboxId, snapshotSeq: pin.snapshotSeq } : null
}

/** Whether a sandbox runs or is stopped, by its last written status: neither expired nor destroyed. */
function wasLive({ status }: SandboxState): boolean {
  return status === 'running' || status === 'stopped'
}

export function statusAt(state: SandboxState, now: number): SandboxStatus {
  return wasLive(state) && state.expiresAt !== undefined && now >= state.expiresAt ? 'expired' : state.status
}

/** When a sandbox came to be expired or destroyed; undefined while it is neither. */
export function endOf(state: SandboxState, now: number): number | undefined {
  return state.endedAt ?? (statusAt(state, now) === 'expired' ? state.expiresAt : undefined)
}

/** Whether a sandbox ended so long ago that it reads as unknown, by this clock or by that of a sweep which removes it. */
export function isPastRetention(state: SandboxState, now: number, retentionMs: number): boolean {
  if (state.purging) return true
  const end = endOf(state, now)
  return end !== undefined && now >= end + retentionMs
}
