import type { Route } from '../shared/routes.ts'

export const SERVICE = 'sandboxes'

/** Where the path of every route of the service begins. */
export const BASE = '/sandbox/sandboxes/v1'

export type SandboxAction =
  | 'create'
  | 'list'
  | 'get'
  | 'destroy'
  | 'stop'
  | 'start'
  | 'renew'
  | 'saveSnapshot'
  | 'listSnapshots'
  | 'getSnapshot'
  | 'snapshotDownloads'
  | 'stageUpload'

const SANDBOX = `${BASE}/{sandbox_id}`
const SNAPSHOTS = `${SANDBOX}/snapshots`
const viewer = { role: 'viewer', permission: 'sandbox#read' } as const
const writer = { role: 'writer', permission: 'sandbox#write' } as const

export const ROUTES: readonly Route<SandboxAction>[] = [
  { method: 'POST', path: BASE, ...writer, action: 'create' },
  { method: 'GET', path: BASE, ...viewer, action: 'list' },
  { method: 'GET', path: SANDBOX, ...viewer, action: 'get' },
  // Of a sandbox that another made it takes an administrator.
  { method: 'DELETE', path: SANDBOX, role: 'writer', permission: 'sandbox#delete', action: 'destroy' },
  { method: 'POST', path: `${SANDBOX}/stop`, ...writer, action: 'stop' },
  { method: 'POST', path: `${SANDBOX}/start`, ...writer, action: 'start' },
  { method: 'POST', path: `${SANDBOX}/renew`, ...writer, action: 'renew' },
  { method: 'POST', path: SNAPSHOTS, ...writer, upload: `${BASE}/uploads`, action: 'saveSnapshot' },
  { method: 'GET', path: SNAPSHOTS, ...viewer, action: 'listSnapshots' },
  { method: 'GET', path: `${SNAPSHOTS}/{snapshot_seq}`, ...viewer, action: 'getSnapshot' },
  { method: 'POST', path: `${SNAPSHOTS}/{snapshot_seq}/downloads`, ...viewer, action: 'snapshotDownloads' },
  { method: 'POST', path: `${BASE}/uploads`, ...writer, action: 'stageUpload' },
]
