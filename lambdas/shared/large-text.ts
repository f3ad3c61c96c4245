import type { ApiMiddleware, ApiRequest } from './request.ts'

/** Below this many UTF-16 code units no text can grow beyond what Lambda takes, whatever is in it. */
const PLAIN_LENGTH = 1_000_000

/**
 * Gives large bodies as base64. Lambda puts a plain body into JSON, where quotes, backslashes and control characters
 * grow, and JSON text is full of them: a body well within the limit may not fit. Base64 grows by a third and no more.
 */
export function largeText(): ApiMiddleware {
  const largeTextAfter = ({ response }: ApiRequest): void => {
    if (!response || response.isBase64Encoded || response.body.length < PLAIN_LENGTH) return
    response.body = Buffer.from(response.body).toString('base64')
    response.isBase64Encoded = true
  }
  return { after: largeTextAfter, onError: largeTextAfter }
}
