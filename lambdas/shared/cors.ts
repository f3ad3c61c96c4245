import type { APIGatewayProxyResult } from 'aws-lambda'
import { type ApiEvent, type ApiMiddleware, type ApiRequest, headerValues } from './request.ts'
import { requestIdOf } from './request-id.ts'
import type { Route } from './routes.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

/** Seconds for which browsers remember a preflight's answer: the longest that one of them takes. */
const MAX_AGE = '7200'
const headerListPattern = /^[A-Za-z0-9!#$%&'*+.^_`|~ ,-]{1,2000}$/

/**
 * Lets pages of other origins read the answers, and answers preflight requests, which come without credentials.
 * @param origins such as `https://app.example`; `*` stands for all
 */
export function cors(routes: readonly Route[], origins: readonly string[]): ApiMiddleware {
  const corsBefore = ({ event, context }: ApiRequest): APIGatewayProxyResult | undefined => {
    if (event.httpMethod !== 'OPTIONS' || origins.length === 0) return undefined
    const methods = routes.filter(({ path }) => path === event.resource).map(({ method }) => method)
    const headers = {
      ...SECURITY_HEADERS,
      'x-request-id': requestIdOf(event, context),
      ...originHeaders(event, origins),
      'access-control-allow-methods': methods.join(', '),
      ...requestedHeaders(event),
      'access-control-max-age': MAX_AGE,
    }
    return { statusCode: 204, headers, body: '', isBase64Encoded: false }
  }
  const corsAfter = ({ event, response }: ApiRequest): void => {
    if (!response || origins.length === 0) return
    response.headers = { ...response.headers, ...originHeaders(event, origins), 'access-control-expose-headers': '*' }
  }
  return { before: corsBefore, after: corsAfter, onError: corsAfter }
}

function originHeaders(event: ApiEvent, origins: readonly string[]): Record<string, string> {
  if (origins.includes('*')) return { 'access-control-allow-origin': '*' }
  const [origin = ''] = headerValues(event, 'origin')
  return { vary: 'Origin', ...(origins.includes(origin) && { 'access-control-allow-origin': origin }) }
}

/** Any header may be sent: who may call is said by what is in them, and not by which they are. */
function requestedHeaders(event: ApiEvent): Record<string, string> {
  const wanted = headerValues(event, 'access-control-request-headers').join(', ')
  return headerListPattern.test(wanted) ? { 'access-control-allow-headers': wanted } : {}
}
