import type { TokenRecord } from '../../src/access/tokens.ts'
import { rightsOf, roleIncludes } from '../../src/keys/store.ts'
import type { ApiKeyRecord, Role } from '../../src/keys/types.ts'
import type { Caller } from '../shared/caller.ts'

/**
 * Who calls with a valid key, a valid token, or both: then what both allow is allowed, the rights are the key's, and
 * the user is the token's.
 */
export function callerOf(
  key: ApiKeyRecord | undefined,
  token: TokenRecord | undefined,
  decision: 'granted' | 'denied',
): Caller | null {
  const sources = [key, token].filter((source) => source !== undefined)
  const [role] = sources.map((source) => source.role).sort(lesserFirst)
  if (role === undefined) return null
  const identity = token
    ? ({ kind: 'user', id: token.subject } as const)
    : key && ({ kind: 'key', id: key.id } as const)
  if (!identity) return null
  return {
    ...identity,
    ...(key && { keyId: key.id }),
    role,
    bindings: sources.map(({ bindings }) => bindings),
    rights: rightsOf(key ?? { role, rights: [] }),
    denied: decision === 'denied',
  }
}

function lesserFirst(left: Role | null, right: Role | null): number {
  if (left === right) return 0
  return right === null || (left !== null && roleIncludes(left, right)) ? 1 : -1
}
