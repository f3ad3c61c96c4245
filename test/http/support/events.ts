import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import type { ApiHandler } from '../../../lambdas/shared/api.ts'
import { writeCaller } from '../../../lambdas/shared/caller.ts'
import type { Principal } from '../../../lambdas/shared/request.ts'
import { rightsOf } from '../../../src/keys/store.ts'
import type { KeyBinding, Role } from '../../../src/keys/types.ts'
import { faultOf } from '../../support/answer-check.ts'

export interface EventInput {
  method?: string
  /** The path, which is the resource of the route too unless that is given. */
  path: string
  resource?: string
  pathParameters?: Record<string, string>
  /** All values of each query parameter. */
  query?: Record<string, string[]>
  /** An object becomes JSON; a string or bytes are sent as they are; null is no body. */
  body?: object | string | Uint8Array | null
  /** Added to the usual ones; undefined takes one away; an array repeats it. */
  headers?: Record<string, string | string[] | undefined>
  role?: Role
  bindings?: KeyBinding[]
  /** Who calls, where it matters: the key `key-1` by default. */
  principal?: Partial<Pick<Principal, 'kind' | 'id' | 'rights'>>
}

const everywhere: KeyBinding[] = [{ tenant: '*', project: '*' }]

/** A REST proxy event of the shape that AWS documents, with all types as the API's binary types. */
export function proxyEvent({
  method = 'POST',
  path,
  resource = path,
  pathParameters,
  query,
  body = {},
  headers,
  ...caller
}: EventInput) {
  const { role = 'platform', bindings = everywhere, principal } = caller
  const bytes = bodyBytes(body)
  const all: Record<string, string | string[] | undefined> = {
    'content-type': 'application/json',
    'X-Sandbox-Tenant-Id': 'acme',
    'X-Sandbox-Project-Id': 'web',
    ...headers,
  }
  const multiValueHeaders = Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value].flat()]])),
  )
  return {
    resource,
    path,
    httpMethod: method,
    headers: Object.fromEntries(Object.entries(multiValueHeaders).map(([name, values]) => [name, values.at(-1)])),
    multiValueHeaders,
    queryStringParameters: query
      ? Object.fromEntries(Object.entries(query).map(([name, values]) => [name, values.at(-1)]))
      : null,
    multiValueQueryStringParameters: query ?? null,
    pathParameters: pathParameters ?? null,
    stageVariables: null,
    requestContext: {
      requestId: 'request-1',
      authorizer: writeCaller({
        kind: 'key',
        id: 'key-1',
        rights: rightsOf({ role, rights: [] }),
        ...principal,
        role,
        bindings: [bindings],
        denied: false,
      }),
    } as unknown as APIGatewayProxyEvent['requestContext'],
    body: bytes && Buffer.from(bytes).toString('base64'),
    isBase64Encoded: bytes !== null,
  } satisfies APIGatewayProxyEvent
}

function bodyBytes(body: object | string | Uint8Array | null): Uint8Array | null {
  if (body === null || body instanceof Uint8Array) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

export const lambdaContext = { awsRequestId: 'invocation-1' } as Context

export interface Answered {
  status: number
  headers: Record<string, unknown>
  /** The parsed body; undefined when it is empty. */
  body: unknown
}

/** Calls a handler. @throws Error when the description of the API does not have the answer */
export async function call(handler: ApiHandler, input: EventInput | APIGatewayProxyEvent): Promise<Answered> {
  const event = 'requestContext' in input ? input : proxyEvent(input)
  const { statusCode, headers = {}, body, isBase64Encoded }: APIGatewayProxyResult = await handler(event, lambdaContext)
  const text = isBase64Encoded ? Buffer.from(body, 'base64').toString() : body
  const contentType = headers['content-type']?.toString()
  const fault = faultOf({ method: event.httpMethod, path: event.resource, status: statusCode, contentType, text })
  if (fault !== undefined) throw new Error(fault)
  return { status: statusCode, headers, body: text === '' ? undefined : JSON.parse(text) }
}

/** What an error answer holds. */
export function errorOf(answer: Answered): { code: string; message: string; field?: string; upload?: string } {
  return (answer.body as { error: { code: string; message: string; field?: string } }).error
}
