import type { IncomingHttpHeaders } from 'node:http'
import { UpstreamError } from '../errors.ts'
import type { AnthropicConnection } from './connection.ts'

/** A refusal of the Messages API, with its body read. */
export interface Refusal {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

interface ApiError {
  type: string
  message: string
  errorCode: string
}

const retryAfterPattern = /^[A-Za-z0-9 ,:.]{1,40}$/

/** Whether a refusal may mean that the container of the request is gone: the API has no one way to say so. */
export function refusesContainer({ status, body }: Refusal): boolean {
  if (status === 404 || status === 500) return true
  const { message, errorCode } = readError(body)
  return (
    status < 500 &&
    /container/i.test(`${errorCode} ${message}`) &&
    /expired|not.?found|not exist/i.test(`${errorCode} ${message}`)
  )
}

/**
 * What our callers get of a refusal: the API's own words, unless they are about the deployment or tell its key or host.
 * @throws UpstreamError for what is between the deployment and Anthropic
 */
export async function passRefusal(
  connection: AnthropicConnection,
  refusal: Refusal,
): Promise<{ status: number; headers: Record<string, string>; body: Buffer }> {
  const { status, headers, body } = refusal
  const text = body.toString()
  const error = readError(body)
  const cause = new Error(`The provider answered ${status} ${error.type} (request ${headers['request-id']}).`)
  if (status < 400 || status === 401 || status === 403) {
    throw new UpstreamError(502, 'upstream_refused', 'The model provider refuses this deployment.', { cause })
  }
  const secrets = [await connection.apiKey(), new URL(connection.baseUrl).host]
  const own = error.type === '' || secrets.some((secret) => text.includes(secret))
  const { 'retry-after': retryAfter = '', 'x-should-retry': shouldRetry } = headers
  return {
    status,
    headers: {
      'content-type': 'application/json',
      ...(retryAfterPattern.test(retryAfter) && { 'retry-after': retryAfter }),
      ...((shouldRetry === 'true' || shouldRetry === 'false') && { 'x-should-retry': shouldRetry }),
    },
    body: own ? Buffer.from(JSON.stringify(apiError(status, 'The model provider refused the request.'))) : body,
  }
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** The body of an error of the Messages API. */
export function apiError(status: number, message: string) {
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return { type: 'error', error: { type, message } }
}

/** Without a type where the body is none of the API's. */
function readError(body: Buffer): ApiError {
  try {
    const { error } = JSON.parse(body.toString())
    const { type, message, details } = error
    if (typeof type === 'string') return { type, message: String(message), errorCode: String(details?.error_code) }
  } catch {
    // A gateway in between may answer with a page.
  }
  return { type: '', message: '', errorCode: '' }
}
