import middy from '@middy/core'
import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import { SandkeepError } from '../../src/errors.ts'
import { actionOf, apiMiddlewares } from './api.ts'
import { countingCapacity } from './capacity.ts'
import { log } from './log.ts'
import type { ApiEvent, ApiMiddleware, StreamCall } from './request.ts'
import { requestIdOf } from './request-id.ts'
import type { Route } from './routes.ts'
import {
  type AnswerHead,
  type BegunBody,
  beginBody,
  callerGone,
  type Pieces,
  type ResponseStream,
  sendAnswer,
} from './stream-body.ts'

/** What `awslambda.streamifyResponse` takes. */
export type StreamHandler = (event: APIGatewayProxyEvent, stream: ResponseStream, context: Context) => Promise<void>

/** The answers of `json()` are some too. Pieces are asked for only as fast as the caller reads. */
export type StreamAnswer = AnswerHead & { body: string | Pieces }

export type StreamAction = (call: StreamCall) => Promise<StreamAnswer>

export interface StreamOptions<Name extends string> {
  routes: readonly Route<Name>[]
  actions: Record<Name, StreamAction>
  /** Sets `call.body`; comes after access is granted. */
  body: readonly ApiMiddleware[]
  /** Whose pages may read the answers. @default none */
  corsOrigins?: readonly string[] | undefined
}

type BegunAnswer = AnswerHead & { body: string | BegunBody }

/** Nobody is there to read the answer. Its status is the one that servers log for this. */
class CallerGoneError extends SandkeepError {
  constructor() {
    super(499, 'caller_gone', 'The caller has gone away.')
  }
}

/**
 * A function of the API that streams its answers: the middlewares that all functions have, then the route's action.
 * What fails before the body's first piece is there becomes an error answer; after that the handler rejects, and the
 * gateway breaks the connection. Made once a container.
 */
export function createStreamHandler<Name extends string>(options: StreamOptions<Name>): StreamHandler {
  const { routes, actions, body, corsOrigins } = options
  const runAction = async ({ call }: ApiEvent): Promise<BegunAnswer> => {
    const { signal } = call as StreamCall
    try {
      const answer = await actionOf<StreamAction>(actions, call)(call as StreamCall)
      return { ...answer, body: typeof answer.body === 'string' ? answer.body : await beginBody(answer.body, signal) }
    } catch (error) {
      throw signal.aborted ? new CallerGoneError() : error
    }
  }
  const handler = middy<ApiEvent, BegunAnswer>().handler(runAction)
  for (const middleware of apiMiddlewares(routes, body, corsOrigins)) handler.use(middleware)

  const answerStreamed: StreamHandler = async (event, stream, context) => {
    const gone = callerGone(stream)
    const answer = await handler({ ...event, call: { signal: gone.signal } }, context)
    try {
      await sendAnswer(stream, answer, gone.signal)
    } catch (error) {
      if (gone.signal.aborted) return
      gone.abort()
      const route = `${event.httpMethod} ${event.resource}`
      log('ERROR', 'The answer broke off.', { request_id: requestIdOf(event, context), route, error })
      // Lambda hands on the message of what is thrown here, so it tells nothing.
      throw new Error('The answer broke off.')
    }
  }
  return (event, stream, context) => countingCapacity(() => answerStreamed(event, stream, context))
}
