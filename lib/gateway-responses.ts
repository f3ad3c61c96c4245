import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway'
import { BASE as CHECKPOINTS } from '../lambdas/checkpoints/routes.ts'
import { UPLOADS_PATH as FILE_UPLOADS } from '../lambdas/files/routes.ts'
import { UPLOAD_PATH as ARTIFACT_UPLOAD } from '../lambdas/memory/routes.ts'
import { BASE as SANDBOXES } from '../lambdas/sandboxes/routes.ts'
import { SECURITY_HEADERS } from '../lambdas/shared/security-headers.ts'
import { AUTHENTICATION_CHALLENGE, ForbiddenError, UnauthenticatedError } from '../src/errors.ts'

interface GatewayRefusal {
  readonly type: ResponseType
  /** Not given: the status that the gateway chose stands. */
  readonly status?: number
  readonly code: string
  readonly message: string
  /**
   * Where to announce a payload that is too large: what the authorizer says of this route, and the paths of all, should
   * the gateway not have asked it.
   */
  readonly tooLarge?: { readonly upload: string; readonly uploads: Readonly<Record<string, string>> }
  /** Headers with what they say. */
  readonly headers?: Readonly<Record<string, string>>
}

const T = ResponseType
const unauthenticated = new UnauthenticatedError()
const forbidden = new ForbiddenError()

const refusals: readonly GatewayRefusal[] = [
  // The gateway answers a path without a resource with "missing authentication token", and not with 404.
  { type: T.MISSING_AUTHENTICATION_TOKEN, status: 404, code: 'not_found', message: 'There is no such route.' },
  { type: T.RESOURCE_NOT_FOUND, status: 404, code: 'not_found', message: 'There is no such route.' },
  {
    type: T.UNAUTHORIZED,
    status: unauthenticated.status,
    code: unauthenticated.code,
    message: unauthenticated.message,
    headers: { 'WWW-Authenticate': AUTHENTICATION_CHALLENGE },
  },
  { type: T.ACCESS_DENIED, status: forbidden.status, code: forbidden.code, message: forbidden.message },
  { type: T.INVALID_API_KEY, status: forbidden.status, code: forbidden.code, message: forbidden.message },
  // No method takes signatures: the gateway looks for one in a bearer token only where there is no route.
  { type: T.INVALID_SIGNATURE, status: 404, code: 'not_found', message: 'There is no such route.' },
  { type: T.EXPIRED_TOKEN, status: 403, code: 'forbidden', message: 'The token of the request is expired.' },
  { type: T.WAF_FILTERED, status: 403, code: 'forbidden', message: 'The request was refused by a firewall rule.' },
  { type: T.BAD_REQUEST_BODY, status: 400, code: 'invalid_input', message: 'The body of the request is not valid.' },
  {
    type: T.BAD_REQUEST_PARAMETERS,
    status: 400,
    code: 'invalid_input',
    message: 'The parameters of the request are not valid.',
  },
  {
    type: T.REQUEST_TOO_LARGE,
    status: 413,
    code: 'payload_too_large',
    message: 'The body of the request is too large for the API. Upload it: POST to the path in upload.',
    tooLarge: {
      upload: '$context.authorizer.upload',
      uploads: {
        artifact: ARTIFACT_UPLOAD,
        checkpoint: `${CHECKPOINTS}/uploads`,
        file: FILE_UPLOADS,
        snapshot: `${SANDBOXES}/uploads`,
      },
    },
  },
  {
    type: T.UNSUPPORTED_MEDIA_TYPE,
    status: 415,
    code: 'unsupported_media_type',
    message: 'The content type must be application/json.',
  },
  {
    type: T.THROTTLED,
    status: 429,
    code: 'too_many_requests',
    message: 'Too many requests. Try again later.',
    // The gateway knows no better: by then it takes as many again as it takes a second.
    headers: { 'retry-after': '1' },
  },
  { type: T.QUOTA_EXCEEDED, status: 429, code: 'too_many_requests', message: 'The quota of requests is used up.' },
  {
    type: T.INTEGRATION_TIMEOUT,
    status: 504,
    code: 'timeout',
    message: 'The service did not answer in time. The request may still take effect.',
  },
  { type: T.INTEGRATION_FAILURE, status: 502, code: 'unavailable', message: 'The service failed to answer.' },
  { type: T.AUTHORIZER_FAILURE, status: 500, code: 'internal_error', message: 'The credentials could not be checked.' },
  {
    type: T.AUTHORIZER_CONFIGURATION_ERROR,
    status: 500,
    code: 'internal_error',
    message: 'The credentials could not be checked.',
  },
  { type: T.API_CONFIGURATION_ERROR, status: 500, code: 'internal_error', message: 'The API is not set up correctly.' },
  { type: T.DEFAULT_4XX, code: 'invalid_request', message: 'The request was refused by the gateway.' },
  { type: T.DEFAULT_5XX, code: 'internal_error', message: 'The gateway failed to answer the request.' },
]

/**
 * Gives what the gateway itself refuses the same JSON shape as the errors of the services.
 * @param readable whether pages of other origins may read it: it is the same for all, and tells nothing of anybody
 */
export function addGatewayResponses(api: RestApi, readable: boolean): void {
  for (const { type, status, code, message, tooLarge, headers = {} } of refusals) {
    api.addGatewayResponse(`Response-${type.responseType}`, {
      type,
      ...(status === undefined ? {} : { statusCode: String(status) }),
      responseHeaders: {
        'x-request-id': 'context.requestId',
        ...Object.fromEntries(
          Object.entries({ ...SECURITY_HEADERS, ...headers }).map(([name, value]) => [name, `'${value}'`]),
        ),
        ...(readable && { 'access-control-allow-origin': "'*'", 'access-control-expose-headers': "'*'" }),
      },
      templates: { 'application/json': JSON.stringify({ error: { code, message, ...tooLarge } }) },
    })
  }
}
