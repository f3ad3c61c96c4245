import type { Context } from 'aws-lambda'
import type { ApiEvent, ApiMiddleware, ApiRequest } from './request.ts'

/** The id under which the gateway and our log know the request. */
export function requestIdOf(event: Partial<ApiEvent>, context: Partial<Context>): string {
  return event.requestContext?.requestId ?? context.awsRequestId ?? 'unknown'
}

/** Puts `x-request-id` on every answer, errors included. */
export function requestId(): ApiMiddleware {
  const requestIdAfter = (request: ApiRequest): void => {
    if (!request.response) return
    request.response.headers = {
      ...request.response.headers,
      'x-request-id': requestIdOf(request.event, request.context),
    }
  }
  return { after: requestIdAfter, onError: requestIdAfter }
}
