import { InvalidInputError } from '../errors.ts'

/** What every store is made for: nothing of another scope can be seen or changed through it. */
export interface Scope {
  readonly tenant: string
  readonly project: string
}

export const TENANT_HEADER = 'X-Sandbox-Tenant-Id'
export const PROJECT_HEADER = 'X-Sandbox-Project-Id'

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/**
 * The scope that two names make; case is kept.
 * @throws InvalidInputError naming the header, when a name is not 1 to 128 of `A-Z a-z 0-9 . _ -`, the first a letter or digit.
 */
export function parseScope(tenant: unknown, project: unknown): Scope {
  return { tenant: scopeName(tenant, TENANT_HEADER), project: scopeName(project, PROJECT_HEADER) }
}

/** Whether a value can be the name of a tenant or a project. */
export function isScopeName(value: unknown): value is string {
  return typeof value === 'string' && namePattern.test(value)
}

function scopeName(value: unknown, header: string): string {
  if (isScopeName(value)) return value
  throw new InvalidInputError(
    header,
    `${header} must be 1 to 128 characters of A-Z a-z 0-9 . _ -, the first a letter or a digit.`,
  )
}
