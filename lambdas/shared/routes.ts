import type { Role } from '../../src/keys/types.ts'

/** What UMA resource a service is, with the scope of it that a route needs: `sandbox-memory#write`. */
export type Permission = `${string}#${'read' | 'write' | 'delete'}`

/** One route of the API. The stack makes a gateway method of it, and the function dispatches on it. */
export interface Route<Action extends string = string> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Absolute, as the gateway's resource path. */
  path: string
  /** The least role that may call it. */
  role: Role
  /** What an identity provider is asked about a caller with a bearer token. */
  permission: Permission
  /** The path at which a body that is too large for the gateway is announced, where there is such a way. */
  upload?: string
  action: Action
}

/** A route that anybody may call, without credentials. */
export interface PublicRoute<Action extends string = string> extends Pick<Route<Action>, 'method' | 'path' | 'action'> {
  role?: undefined
}

export type AnyRoute<Action extends string = string> = Route<Action> | PublicRoute<Action>
