import type { Route } from '../shared/routes.ts'

export const SERVICE = 'keys'

const BASE = '/sandbox/keys/v1'

export type KeyAction = 'create' | 'list' | 'revoke'

export const ROUTES: readonly Route<KeyAction>[] = [
  { method: 'POST', path: BASE, role: 'platform', permission: 'sandbox-keys#write', action: 'create' },
  { method: 'GET', path: BASE, role: 'platform', permission: 'sandbox-keys#read', action: 'list' },
  { method: 'POST', path: `${BASE}/revoke`, role: 'platform', permission: 'sandbox-keys#delete', action: 'revoke' },
]
