import type middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda'
import type { KeyBinding, Right, Role } from '../../src/keys/types.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import type { AnyRoute } from './routes.ts'

/** Who calls, as the authorizer told it. */
export interface Principal {
  role: Role
  /** Each of these lists has to hold a tenant and project that the caller may reach: one of the key, one of the token. */
  bindings: readonly (readonly KeyBinding[])[]
  rights: readonly Right[]
  /** Whether the caller is known by a token of the identity provider, or by an API key alone. */
  kind: 'user' | 'key'
  /** The `sub` of the token, or the id of the key. */
  id: string
}

/** What the middlewares find out about a request, one after the other. */
export interface Call {
  route: AnyRoute
  scope: Scope
  principal: Principal
  /** The parameters of the path, as they stood in it. */
  params: Readonly<Record<string, string>>
  /** The parsed JSON body. */
  body: unknown
  /** For whom of the app the request acts; of the functions that ask for it. */
  user?: string
}

/** A call of a function that streams its answers. */
export interface StreamCall extends Call {
  /** Aborted when the caller has gone away or the answer broke off: nobody reads what an action would still give. */
  signal: AbortSignal
}

/** An event of the gateway, with what is known about it so far. */
export interface ApiEvent extends Omit<APIGatewayProxyEvent, 'body'> {
  body: string | null
  call?: Partial<StreamCall>
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
