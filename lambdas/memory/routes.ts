import type { Route } from '../shared/routes.ts'

export const SERVICE = 'memory'

/** Where the path of every route of the service begins. */
export const BASE = '/sandbox/memory/v1'

export type MemoryAction =
  | 'putTurn'
  | 'getTurn'
  | 'putArtifact'
  | 'getArtifact'
  | 'startUpload'
  | 'completeUpload'
  | 'listTasks'
  | 'getTask'
  | 'deleteTask'

const TASK = `${BASE}/tasks/{task_id}`
const TURN = `${TASK}/turns/{turn}`
const ARTIFACT = `${TURN}/artifacts/{name}`

/** Where an artifact that is too large for a direct PUT is announced, with the parameters in braces. */
export const UPLOAD_PATH = `${ARTIFACT}/upload`

export const ROUTES: readonly Route<MemoryAction>[] = [
  { method: 'PUT', path: TURN, role: 'writer', permission: 'sandbox-memory#write', action: 'putTurn' },
  { method: 'GET', path: TURN, role: 'viewer', permission: 'sandbox-memory#read', action: 'getTurn' },
  {
    method: 'PUT',
    path: ARTIFACT,
    role: 'writer',
    permission: 'sandbox-memory#write',
    upload: UPLOAD_PATH,
    action: 'putArtifact',
  },
  { method: 'GET', path: ARTIFACT, role: 'viewer', permission: 'sandbox-memory#read', action: 'getArtifact' },
  { method: 'POST', path: UPLOAD_PATH, role: 'writer', permission: 'sandbox-memory#write', action: 'startUpload' },
  {
    method: 'POST',
    path: `${UPLOAD_PATH}/{upload_id}/complete`,
    role: 'writer',
    permission: 'sandbox-memory#write',
    action: 'completeUpload',
  },
  { method: 'GET', path: `${BASE}/tasks`, role: 'viewer', permission: 'sandbox-memory#read', action: 'listTasks' },
  { method: 'GET', path: TASK, role: 'viewer', permission: 'sandbox-memory#read', action: 'getTask' },
  { method: 'DELETE', path: TASK, role: 'writer', permission: 'sandbox-memory#delete', action: 'deleteTask' },
]
