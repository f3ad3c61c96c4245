import { createHash } from 'node:crypto'
import middy from '@middy/core'
import type { APIGatewayProxyResult } from 'aws-lambda'
import description from '../../docs/openapi.json' with { type: 'json' }
import type { ApiHandler } from '../shared/api.ts'
import { errorAnswer } from '../shared/error-answer.ts'
import { noneMatchNames } from '../shared/etag.ts'
import { type ApiEvent, type ApiMiddleware, headerValues } from '../shared/request.ts'
import { requestId } from '../shared/request-id.ts'
import { requestLog } from '../shared/request-log.ts'
import { router } from '../shared/router.ts'
import { securityHeaders } from '../shared/security-headers.ts'
import { ROUTES } from './routes.ts'

const BODY = JSON.stringify(description)
const ETAG = `"${createHash('sha256').update(BODY).digest('base64url')}"`
// The same for everybody, and it changes with a deployment only.
const HEADERS = { etag: ETAG, 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' }

/** Gives the description of the API to anybody who asks. */
export function createHandler(): ApiHandler {
  const handler = middy<ApiEvent, APIGatewayProxyResult>().handler(async (event) =>
    noneMatchNames(headerValues(event, 'if-none-match'), ETAG)
      ? { statusCode: 304, headers: HEADERS, body: '', isBase64Encoded: false }
      : {
          statusCode: 200,
          headers: { ...HEADERS, 'content-type': 'application/json' },
          body: BODY,
          isBase64Encoded: false,
        },
  )
  const middlewares = [requestLog(), requestId(), securityHeaders() as ApiMiddleware, router(ROUTES), errorAnswer()]
  for (const middleware of middlewares) handler.use(middleware)
  return async (event, context) => handler(event as ApiEvent, context)
}
