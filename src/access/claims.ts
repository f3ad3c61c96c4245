import type { JWTPayload } from 'jose'
import { roleIncludes } from '../keys/store.ts'
import type { KeyBinding, Role } from '../keys/types.ts'
import { isScopeName } from '../tenancy/scope.ts'
import type { OidcConfig } from './settings.ts'

const MAX_SUBJECT_LENGTH = 255

/** Who the token is of, or null where it does not say it in a way that can be kept. */
export function readSubject({ sub }: JWTPayload): string | null {
  return typeof sub === 'string' && sub !== '' && sub.length <= MAX_SUBJECT_LENGTH && sub.isWellFormed() ? sub : null
}

/**
 * The greatest role that the roles of the realm and of the client give, or null. What is not of the expected type gives
 * nothing.
 */
export function readRole(
  payload: JWTPayload,
  { clientId, roles }: Pick<OidcConfig, 'clientId' | 'roles'>,
): Role | null {
  const names = [
    ...asList(member(payload.realm_access, 'roles')),
    ...asList(member(member(payload.resource_access, clientId), 'roles')),
  ]
  let greatest: Role | null = null
  for (const name of names) {
    const role = typeof name === 'string' ? roles.get(name) : undefined
    if (role && (!greatest || roleIncludes(role, greatest))) greatest = role
  }
  return greatest
}

/**
 * The tenants and projects that the token is good for: `tenant/project`, `*` for all of either, or `*` alone for all.
 * What is not of that form gives nothing.
 */
export function readBindings(payload: JWTPayload, { projectsClaim }: Pick<OidcConfig, 'projectsClaim'>): KeyBinding[] {
  return asList(member(payload, projectsClaim)).flatMap((text) => {
    if (typeof text !== 'string') return []
    const [tenant, project, ...more] = text === '*' ? ['*', '*'] : text.split('/')
    return more.length === 0 && isBound(tenant) && isBound(project) ? [{ tenant, project }] : []
  })
}

function isBound(name: string | undefined): name is string {
  return name === '*' || isScopeName(name)
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** A member of its own: claims are objects of somebody else's making. */
function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined
}
