import { NotFoundError, SandkeepError } from '../../src/errors.ts'
import type { ApiMiddleware, ApiRequest } from './request.ts'
import type { AnyRoute } from './routes.ts'

/** The path is known, the method is not one of it. */
export class MethodNotAllowedError extends SandkeepError {
  readonly allow: string

  constructor(allowed: readonly string[]) {
    const allow = allowed.join(', ')
    super(405, 'method_not_allowed', `This path takes ${allow}.`)
    this.allow = allow
  }
}

/** Finds the route of (httpMethod, resource). @throws NotFoundError, MethodNotAllowedError */
export function router(routes: readonly AnyRoute[]): ApiMiddleware {
  const byPath = Map.groupBy(routes, (route) => route.path)
  const routerBefore = ({ event }: ApiRequest): void => {
    const candidates = byPath.get(event.resource)
    if (!candidates) throw new NotFoundError('There is no such route.')
    const route = candidates.find(({ method }) => method === event.httpMethod)
    if (!route) throw new MethodNotAllowedError(candidates.map(({ method }) => method))
    event.call = { ...event.call, route, params: (event.pathParameters ?? {}) as Record<string, string> }
  }
  return { before: routerBefore }
}
