import type { Route } from '../shared/routes.ts'

export const SERVICE = 'instances'

const BASE = '/sandbox/instances/v1'

export type InstanceAction = 'get' | 'upsert' | 'delete'

export const ROUTES: readonly Route<InstanceAction>[] = [
  { method: 'POST', path: `${BASE}/get`, role: 'viewer', permission: 'sandbox-instances#read', action: 'get' },
  { method: 'POST', path: `${BASE}/upsert`, role: 'writer', permission: 'sandbox-instances#write', action: 'upsert' },
  { method: 'POST', path: `${BASE}/delete`, role: 'writer', permission: 'sandbox-instances#delete', action: 'delete' },
]
