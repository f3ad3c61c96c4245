import type middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda'
import type { ApiKeyRecord } from '../../src/keys/types.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import type { Route } from './routes.ts'

/** Who calls, as the authorizer told it. */
export type Principal = Pick<ApiKeyRecord, 'role' | 'bindings'> & {
  /** Whether the caller is known by a token of the identity provider, or by an API key alone. */
  kind: 'user' | 'key'
  /** The `sub` of the token, or the id of the key. */
  id: string
}

/** What the middlewares find out about a request, one after the other. */
export interface Call {
  route: Route
  scope: Scope
  principal: Principal
  /** The parameters of the path, as they stood in it. */
  params: Readonly<Record<string, string>>
  /** The parsed JSON body. */
  body: unknown
}

/** An event of the gateway, with what is known about it so far. */
export interface ApiEvent extends Omit<APIGatewayProxyEvent, 'body'> {
  body: string | null
  call?: Partial<Call>
}

export type ApiRequest = middy.Request<ApiEvent, APIGatewayProxyResult>
export type ApiMiddleware = middy.MiddlewareObj<ApiEvent, APIGatewayProxyResult>

type Headers<Value> = Record<string, Value | undefined> | null | undefined

/** All values of a header, whatever its letters' case; gateways give the multi-value map, but it may be absent. */
export function headerValues(
  event: { headers?: Headers<string>; multiValueHeaders?: Headers<string[]> },
  name: string,
): string[] {
  const wanted = name.toLowerCase()
  const headers: Record<string, string | string[] | undefined> = event.multiValueHeaders ?? event.headers ?? {}
  return Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === wanted)
    .flatMap(([, value]) => value ?? [])
}
