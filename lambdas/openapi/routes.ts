import type { PublicRoute } from '../shared/routes.ts'

export const SERVICE = 'openapi'

export type OpenapiAction = 'document'

export const ROUTES: readonly PublicRoute<OpenapiAction>[] = [
  { method: 'GET', path: '/openapi.json', action: 'document' },
]
