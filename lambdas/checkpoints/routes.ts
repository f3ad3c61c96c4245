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

/** Ids of the contract are arbitrary strings, which gateways decode differently in a path: they travel in bodies. */
export const ROUTES: readonly Route<CheckpointAction>[] = [
  { method: 'POST', path: `${BASE}/get`, role: 'viewer', action: 'get' },
  { method: 'POST', path: `${BASE}/list`, role: 'viewer', action: 'list' },
  { method: 'POST', path: `${BASE}/head`, role: 'viewer', action: 'head' },
  { method: 'POST', path: `${BASE}/append`, role: 'writer', action: 'append' },
  { method: 'POST', path: `${BASE}/delete-head`, role: 'writer', action: 'deleteHead' },
  { method: 'POST', path: `${BASE}/fork`, role: 'writer', action: 'fork' },
  { method: 'POST', path: `${BASE}/prune`, role: 'writer', action: 'prune' },
  { method: 'POST', path: `${BASE}/references`, role: 'viewer', action: 'references' },
  { method: 'POST', path: `${BASE}/writers/acquire`, role: 'writer', action: 'acquireWriter' },
  { method: 'POST', path: `${BASE}/writers/renew`, role: 'writer', action: 'renewWriter' },
  { method: 'POST', path: `${BASE}/writers/release`, role: 'writer', action: 'releaseWriter' },
  { method: 'POST', path: `${BASE}/blobs/uploads`, role: 'writer', action: 'blobUploads' },
  { method: 'POST', path: `${BASE}/blobs/downloads`, role: 'viewer', action: 'blobDownloads' },
  { method: 'POST', path: `${BASE}/blobs/head`, role: 'viewer', action: 'blobHead' },
  { method: 'POST', path: `${BASE}/blobs/list`, role: 'viewer', action: 'blobList' },
  { method: 'POST', path: `${BASE}/blobs/delete`, role: 'project_admin', action: 'blobDelete' },
  { method: 'POST', path: `${BASE}/uploads`, role: 'writer', action: 'stageUpload' },
  { method: 'POST', path: `${BASE}/sweeps`, role: 'project_admin', action: 'sweepStart' },
  { method: 'GET', path: `${BASE}/sweeps`, role: 'viewer', action: 'sweepList' },
  { method: 'GET', path: `${BASE}/usage`, role: 'viewer', action: 'usage' },
]
