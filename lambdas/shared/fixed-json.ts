import httpJsonBodyParser from '@middy/http-json-body-parser'
import type { ApiMiddleware, ApiRequest } from './request.ts'

/**
 * Parses the body of services whose requests have fixed fields. Keys such as `__proto__` are refused; services that
 * keep documents of the caller's own parse them otherwise.
 */
export function fixedJson(): ApiMiddleware[] {
  const takeBodyBefore = ({ event }: ApiRequest): void => {
    event.call = { ...event.call, body: event.body }
  }
  // `bodyText` has checked the content type already.
  return [httpJsonBodyParser({ disableContentTypeCheck: true }) as ApiMiddleware, { before: takeBodyBefore }]
}
