import { apiError } from '../../src/anthropic/refusals.ts'
import { stringifyJson } from '../../src/json.ts'
import type { ApiMiddleware, ApiRequest } from '../shared/request.ts'
import { requestIdOf } from '../shared/request-id.ts'

/** Gives our own errors the shape that clients of the Messages API read, and the request the header that they quote. */
export function errorShape(): ApiMiddleware {
  const errorShapeAfter = ({ event, context, response }: ApiRequest): void => {
    if (!response) return
    response.headers = { ...response.headers, 'request-id': requestIdOf(event, context) }
  }
  const errorShapeOnError = (request: ApiRequest): void => {
    const { response } = request
    if (response) {
      const { error } = JSON.parse(response.body)
      response.body = stringifyJson(apiError(response.statusCode, error.message))
    }
    errorShapeAfter(request)
  }
  return { after: errorShapeAfter, onError: errorShapeOnError }
}
