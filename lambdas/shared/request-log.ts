import { capacitySoFar } from './capacity.ts'
import { log } from './log.ts'
import type { ApiMiddleware, ApiRequest } from './request.ts'
import { requestIdOf } from './request-id.ts'

/** One line for each request: what was asked, by whom, what came of it, and what it cost. Nothing of its content. */
export function requestLog(): ApiMiddleware {
  const begun = new WeakMap<object, number>()
  const requestLogBefore = ({ event }: ApiRequest): void => {
    begun.set(event, performance.now())
  }
  const requestLogAfter = ({ event, context, response }: ApiRequest): void => {
    const { route, scope, principal } = event.call ?? {}
    const capacity = capacitySoFar()
    log('INFO', 'request', {
      request_id: requestIdOf(event, context),
      route: route ? `${route.method} ${route.path}` : 'none',
      ...scope,
      ...(principal && { caller: `${principal.kind}:${principal.id}` }),
      status: response?.statusCode,
      milliseconds: Math.round(performance.now() - (begun.get(event) ?? performance.now())),
      ...(capacity && { table_requests: capacity.requests, consumed_capacity: capacity.units }),
    })
  }
  return { before: requestLogBefore, after: requestLogAfter, onError: requestLogAfter }
}
