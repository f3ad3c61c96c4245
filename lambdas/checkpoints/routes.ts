import type { Route } from '../shared/routes.ts'

export const SERVICE = 'checkpoints'

/** Where the path of every route of the service begins. */
export const BASE = '/sandbox/checkpoints/v1'

export type CheckpointAction =
  | 'get'
  | 'list'
  | 'head'
  | 'append'
  | 'deleteHead'
  | 'fork'
  | 'prune'
  | 'references'
  | 'acquireWriter'
  | 'renewWriter'
  | 'releaseWriter'
  | 'blobUploads'
  | 'blobDownloads'
  | 'blobHead'
  | 'blobList'
  | 'blobDelete'
  | 'stageUpload'
  | 'sweepStart'
  | 'sweepList'
  | 'usage'

/** A body that is too large is announced there. */
const upload = `${BASE}/uploads`

/** Ids of the contract are arbitrary strings, which gateways decode differently in a path: they travel in bodies. */
export const ROUTES: readonly Route<CheckpointAction>[] = [
  {
    method: 'POST',
    path: `${BASE}/get`,
    role: 'viewer',
    permission: 'sandbox-checkpoints#read',
    upload,
    action: 'get',
  },
  {
    method: 'POST',
    path: `${BASE}/list`,
    role: 'viewer',
    permission: 'sandbox-checkpoints#read',
    upload,
    action: 'list',
  },
  {
    method: 'POST',
    path: `${BASE}/head`,
    role: 'viewer',
    permission: 'sandbox-checkpoints#read',
    upload,
    action: 'head',
  },
  {
    method: 'POST',
    path: `${BASE}/append`,
    role: 'writer',
    permission: 'sandbox-checkpoints#write',
    upload,
    action: 'append',
  },
  {
    method: 'POST',
    path: `${BASE}/delete-head`,
    role: 'writer',
    permission: 'sandbox-checkpoints#delete',
    action: 'deleteHead',
  },
  {
    method: 'POST',
    path: `${BASE}/fork`,
    role: 'writer',
    permission: 'sandbox-checkpoints#write',
    upload,
    action: 'fork',
  },
  {
    method: 'POST',
    path: `${BASE}/prune`,
    role: 'writer',
    permission: 'sandbox-checkpoints#delete',
    upload,
    action: 'prune',
  },
  {
    method: 'POST',
    path: `${BASE}/references`,
    role: 'viewer',
    permission: 'sandbox-checkpoints#read',
    action: 'references',
  },
  {
    method: 'POST',
    path: `${BASE}/writers/acquire`,
    role: 'writer',
    permission: 'sandbox-checkpoints#write',
    action: 'acquireWriter',
  },
  {
    method: 'POST',
    path: `${BASE}/writers/renew`,
    role: 'writer',
    permission: 'sandbox-checkpoints#write',
    action: 'renewWriter',
  },
  {
    method: 'POST',
    path: `${BASE}/writers/release`,
    role: 'writer',
    permission: 'sandbox-checkpoints#write',
    action: 'releaseWriter',
  },
  {
    method: 'POST',
    path: `${BASE}/blobs/uploads`,
    role: 'writer',
    permission: 'sandbox-checkpoints#write',
    action: 'blobUploads',
  },
  {
    method: 'POST',
    path: `${BASE}/blobs/downloads`,
    role: 'viewer',
    permission: 'sandbox-checkpoints#read',
    action: 'blobDownloads',
  },
  {
    method: 'POST',
    path: `${BASE}/blobs/head`,
    role: 'viewer',
    permission: 'sandbox-checkpoints#read',
    action: 'blobHead',
  },
  {
    method: 'POST',
    path: `${BASE}/blobs/list`,
    role: 'viewer',
    permission: 'sandbox-checkpoints#read',
    action: 'blobList',
  },
  {
    method: 'POST',
    path: `${BASE}/blobs/delete`,
    role: 'project_admin',
    permission: 'sandbox-checkpoints#delete',
    action: 'blobDelete',
  },
  {
    method: 'POST',
    path: `${BASE}/uploads`,
    role: 'writer',
    permission: 'sandbox-checkpoints#write',
    action: 'stageUpload',
  },
  {
    method: 'POST',
    path: `${BASE}/sweeps`,
    role: 'project_admin',
    permission: 'sandbox-checkpoints#delete',
    action: 'sweepStart',
  },
  {
    method: 'GET',
    path: `${BASE}/sweeps`,
    role: 'viewer',
    permission: 'sandbox-checkpoints#read',
    action: 'sweepList',
  },
  { method: 'GET', path: `${BASE}/usage`, role: 'viewer', permission: 'sandbox-checkpoints#read', action: 'usage' },
]
