import type { Route } from '../shared/routes.ts'

export const SERVICE = 'keys'

const BASE = '/sandbox/keys/v1'

export type KeyAction = 'create' | 'list' | 'revoke'

export const ROUTES: readonly Route<KeyAction>[] = [
  { method: 'POST', path: BASE, role: 'platform', action: 'create' },
  { method: 'GET', path: BASE, role: 'platform', action: 'list' },
  { method: 'POST', path: `${BASE}/revoke`, role: 'platform', action: 'revoke' },
]
