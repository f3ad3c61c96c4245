import { BASE } from '../files/routes.ts'
import type { Route } from '../shared/routes.ts'

export const SERVICE = 'file-content'

export type FileContentAction = 'content'

/** One route of the files, in a function of its own: its answer may be larger than one that is not streamed. */
export const ROUTES: readonly Route<FileContentAction>[] = [
  {
    method: 'GET',
    path: `${BASE}/{file_id}/content`,
    role: 'viewer',
    permission: 'sandbox-files#read',
    action: 'content',
  },
]
