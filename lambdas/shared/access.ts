import { ForbiddenError, InvalidInputError, UnauthenticatedError } from '../../src/errors.ts'
import { allows, roleIncludes } from '../../src/keys/store.ts'
import { ROLES } from '../../src/keys/types.ts'
import { PROJECT_HEADER, parseScope, TENANT_HEADER } from '../../src/tenancy/scope.ts'
import { type ApiEvent, type ApiMiddleware, type ApiRequest, headerValues, type Principal } from './request.ts'

/**
 * The one place where a request gets its scope: from the tenancy headers, checked against what the authorizer says
 * about the key, and against the route's role.
 * @throws UnauthenticatedError, InvalidInputError naming the header, ForbiddenError
 */
export function access(): ApiMiddleware {
  const accessBefore = ({ event }: ApiRequest): void => {
    const principal = principalOf(event)
    const scope = parseScope(onlyValue(event, TENANT_HEADER), onlyValue(event, PROJECT_HEADER))
    const role = event.call?.route?.role
    if (!role || !roleIncludes(principal.role, role) || !allows(principal.bindings, scope)) {
      throw new ForbiddenError()
    }
    event.call = { ...event.call, principal, scope }
  }
  return { before: accessBefore }
}

function principalOf(event: ApiEvent): Principal {
  const context: Record<string, unknown> = event.requestContext?.authorizer ?? {}
  const role = ROLES.find((known) => known === context.role)
  const { bindings, keyId } = context
  if (!role || typeof bindings !== 'string' || typeof keyId !== 'string') throw new UnauthenticatedError()
  return { role, bindings: JSON.parse(bindings), kind: 'key', id: keyId }
}

function onlyValue(event: ApiEvent, header: string): string {
  const [value, ...others] = headerValues(event, header)
  if (value === undefined) throw new InvalidInputError(header, `The header ${header} is required.`)
  if (others.length > 0) throw new InvalidInputError(header, `The header ${header} must stand once.`)
  return value
}
