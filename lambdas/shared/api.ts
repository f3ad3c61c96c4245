import middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import { access } from './access.ts'
import type { Action } from './action.ts'
import { countingCapacity } from './capacity.ts'
import { cors } from './cors.ts'
import { errorAnswer } from './error-answer.ts'
import { largeText } from './large-text.ts'
import type { ApiEvent, ApiMiddleware, Call } from './request.ts'
import { requestId } from './request-id.ts'
import { requestLog } from './request-log.ts'
import { router } from './router.ts'
import type { Route } from './routes.ts'
import { securityHeaders } from './security-headers.ts'

export type ApiHandler = (event: APIGatewayProxyEvent, context: Context) => Promise<APIGatewayProxyResult>

export interface ApiOptions<Name extends string> {
  routes: readonly Route<Name>[]
  actions: Record<Name, Action>
  /** Sets `call.body`; comes after access is granted, and may act on the answer too. */
  body: readonly ApiMiddleware[]
  /** Whose pages may read the answers. @default none */
  corsOrigins?: readonly string[] | undefined
}

/** A function of the API: the middlewares, then the route's action. Made once a container. */
export function createApiHandler<Name extends string>(options: ApiOptions<Name>): ApiHandler {
  const { routes, actions, body, corsOrigins } = options
  const runAction = async ({ call }: ApiEvent): Promise<APIGatewayProxyResult> =>
    actionOf<Action>(actions, call)(call as Call)
  const handler = middy<ApiEvent, APIGatewayProxyResult>().handler(runAction)
  handler.use(largeText())
  for (const middleware of apiMiddlewares(routes, body, corsOrigins)) handler.use(middleware)
  return (event, context) => countingCapacity(async () => handler(event as ApiEvent, context))
}

/**
 * What every request passes, in the order of refusal. An answer passes it the other way.
 * @param body sets `call.body`
 */
export function apiMiddlewares(
  routes: readonly Route[],
  body: readonly ApiMiddleware[],
  corsOrigins: readonly string[] = [],
): ApiMiddleware[] {
  return [
    requestLog(),
    cors(routes, corsOrigins),
    requestId(),
    securityHeaders() as ApiMiddleware,
    router(routes),
    access(),
    ...body,
    // On errors the last one used comes first: the others then find an answer to complete.
    errorAnswer(),
  ]
}

/** The action of the route that was found. */
export function actionOf<Run>(actions: Readonly<Record<string, Run>>, call: Partial<Call> | undefined): Run {
  const run = call?.route && actions[call.route.action]
  if (!run) throw new Error(`The route ${call?.route?.path} has no action.`)
  return run
}
