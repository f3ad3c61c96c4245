import httpJsonBodyParser from '@middy/http-json-body-parser'
import { checkNamesOnce } from './body-text.ts'
import type { ApiMiddleware, ApiRequest } from './request.ts'

/**
 * Parses the body of services whose requests have fixed fields. Keys such as `__proto__`, and those that stand twice,
 * are refused; services that keep documents of the caller's own parse them otherwise.
 */
export function fixedJson(): ApiMiddleware {
  // `bodyText` has checked the content type already.
  const parser = httpJsonBodyParser({ disableContentTypeCheck: true }) as ApiMiddleware
  const fixedJsonBefore = async (request: ApiRequest): Promise<void> => {
    const { event } = request
    const text = event.body ?? ''
    await parser.before?.(request)
    checkNamesOnce(text)
    event.call = { ...event.call, body: event.body }
  }
  return { before: fixedJsonBefore }
}
