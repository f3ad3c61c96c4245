import type { Route } from '../shared/routes.ts'

export const SERVICE = 'anthropic'

/** Where the path of every route of the service begins: what an Anthropic client takes for the API, with `/v1`. */
export const BASE = '/sandbox/anthropic/v1'

export type AnthropicAction = 'messages' | 'containers'

export const ROUTES: readonly Route<AnthropicAction>[] = [
  { method: 'POST', path: `${BASE}/messages`, role: 'writer', permission: 'sandbox-files#write', action: 'messages' },
  { method: 'GET', path: `${BASE}/containers`, role: 'viewer', permission: 'sandbox-files#read', action: 'containers' },
]
