import type { Route } from '../shared/routes.ts'

export const SERVICE = 'files'

/** Where the path of every route of the service begins. */
export const BASE = '/sandbox/files/v1'

/** Where a file that is too large for a form is announced. */
export const UPLOADS_PATH = `${BASE}/uploads`

export type FileAction = 'create' | 'list' | 'get' | 'delete' | 'startUpload' | 'completeUpload'

export const ROUTES: readonly Route<FileAction>[] = [
  {
    method: 'POST',
    path: BASE,
    role: 'writer',
    permission: 'sandbox-files#write',
    upload: UPLOADS_PATH,
    action: 'create',
  },
  { method: 'POST', path: UPLOADS_PATH, role: 'writer', permission: 'sandbox-files#write', action: 'startUpload' },
  { method: 'GET', path: BASE, role: 'viewer', permission: 'sandbox-files#read', action: 'list' },
  { method: 'GET', path: `${BASE}/{file_id}`, role: 'viewer', permission: 'sandbox-files#read', action: 'get' },
  { method: 'DELETE', path: `${BASE}/{file_id}`, role: 'writer', permission: 'sandbox-files#delete', action: 'delete' },
  {
    method: 'POST',
    path: `${UPLOADS_PATH}/{upload_id}/complete`,
    role: 'writer',
    permission: 'sandbox-files#write',
    action: 'completeUpload',
  },
]
