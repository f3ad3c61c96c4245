import { BASE } from '../memory/routes.ts'
import type { Route } from '../shared/routes.ts'

export const SERVICE = 'project-md'

export type ProjectMdAction = 'projectMd'

/** One route of the memory, in a function of its own: its answer has any length, so it is streamed. */
export const ROUTES: readonly Route<ProjectMdAction>[] = [
  { method: 'GET', path: `${BASE}/project.md`, role: 'viewer', permission: 'sandbox-memory#read', action: 'projectMd' },
]
