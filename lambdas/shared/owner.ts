import type { Principal } from './request.ts'

/** The text under which what a caller makes is kept: users and keys never share one. */
export function ownerOf({ kind, id }: Pick<Principal, 'kind' | 'id'>): string {
  return `${kind}:${id}`
}
