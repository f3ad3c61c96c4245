import { ForbiddenError, InvalidInputError, UnauthenticatedError, UnavailableError } from '../../src/errors.ts'
import { allows, roleIncludes } from '../../src/keys/store.ts'
import type { Right } from '../../src/keys/types.ts'
import { PROJECT_HEADER, parseScope, TENANT_HEADER } from '../../src/tenancy/scope.ts'
import { readCaller, UNAVAILABLE } from './caller.ts'
import { type ApiEvent, type ApiMiddleware, type ApiRequest, headerValues, type Principal } from './request.ts'

/**
 * The one place where a request gets its scope: from the tenancy headers, checked against what the authorizer says
 * about the caller, and against the route's role. The refusals come in this order, whatever else is wrong.
 * @throws UnauthenticatedError, InvalidInputError naming the header, UnavailableError, ForbiddenError
 */
export function access(): ApiMiddleware {
  const accessBefore = ({ event }: ApiRequest): void => {
    const caller = readCaller(event.requestContext?.authorizer ?? {})
    if (!caller) throw new UnauthenticatedError()
    const scope = parseScope(onlyValue(event, TENANT_HEADER), onlyValue(event, PROJECT_HEADER))
    if (caller === UNAVAILABLE) throw new UnavailableError('The identity provider did not answer. Try again.')
    const { role, bindings, rights, kind, id, denied } = caller
    const needed = event.call?.route?.role
    const allowed = !denied && needed && role && roleIncludes(role, needed)
    if (!allowed || bindings.length === 0 || !bindings.every((list) => allows(list, scope))) throw new ForbiddenError()
    event.call = { ...event.call, principal: { role, bindings, rights, kind, id }, scope }
  }
  return { before: accessBefore }
}

/** Whether the caller may do what the right is for. */
export function hasRight({ rights }: Pick<Principal, 'rights'>, right: Right): boolean {
  return rights.includes(right)
}

/** How the caller is recorded as the owner of something: a user and a key never come to the same text. */
export function ownerText({ kind, id }: Pick<Principal, 'kind' | 'id'>): string {
  return `${kind}:${id}`
}

function onlyValue(event: ApiEvent, header: string): string {
  const [value, ...others] = headerValues(event, header)
  if (value === undefined) throw new InvalidInputError(header, `The header ${header} is required.`)
  if (others.length > 0) throw new InvalidInputError(header, `The header ${header} must stand once.`)
  return value
}
