import { type KeyBinding, RIGHTS, type Right, ROLES, type Role } from '../../src/keys/types.ts'
import type { Principal } from './request.ts'

/** What the authorizer found out about a caller whose credentials are valid. */
export type Caller = Omit<Principal, 'role'> & {
  /** None: a token that gives no role here. */
  role: Role | null
  /** The key that was sent, alone or beside a token. For the access log. */
  keyId?: string
  /** The identity provider says no to this route. */
  denied: boolean
}

/** In place of a caller: the identity provider could not be asked. */
export const UNAVAILABLE = 'unavailable'

/** The authorizer's context: the gateway passes on strings only. */
export type CallerContext = Record<string, string>

export function writeCaller(caller: Caller | typeof UNAVAILABLE): CallerContext {
  if (caller === UNAVAILABLE) return { unavailable: 'true' }
  const { kind, id, role, bindings, rights, keyId, denied } = caller
  return {
    kind,
    id,
    role: role ?? '',
    bindings: JSON.stringify(bindings),
    rights: JSON.stringify(rights),
    denied: String(denied),
    ...(keyId !== undefined && { keyId }),
  }
}

/** What `writeCaller` wrote, or null when it is something else: nobody was let in by our authorizer then. */
export function readCaller(context: Record<string, unknown>): Caller | typeof UNAVAILABLE | null {
  if (context.unavailable === 'true') return UNAVAILABLE
  const { kind, id, role, denied } = context
  const bindings = readList(context.bindings)
  const rights = readList(context.rights)
  if ((kind !== 'user' && kind !== 'key') || typeof id !== 'string' || !bindings || !rights) return null
  if (role !== '' && !ROLES.some((known) => known === role)) return null
  return {
    kind,
    id,
    role: ROLES.find((known) => known === role) ?? null,
    bindings: bindings as KeyBinding[][],
    rights: RIGHTS.filter((right) => rights.includes(right)) as Right[],
    denied: denied !== 'false',
  }
}

function readList(text: unknown): unknown[] | null {
  if (typeof text !== 'string') return null
  const value: unknown = JSON.parse(text)
  return Array.isArray(value) ? value : null
}
