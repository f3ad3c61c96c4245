import type { Role } from '../../src/keys/types.ts'

/** One route of the API. The stack makes a gateway method of it, and the function dispatches on it. */
export interface Route<Action extends string = string> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Absolute, as the gateway's resource path. */
  path: string
  /** The least role that may call it. */
  role: Role
  action: Action
}
