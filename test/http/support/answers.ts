import { PassThrough, Readable } from 'node:stream'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import type { ApiHandler } from '../../../lambdas/shared/api.ts'
import type { StreamHandler } from '../../../lambdas/shared/stream.ts'
import { invokeStream } from '../../../local/gateway/invoke-stream.ts'
import { lambdaContext } from './events.ts'

/** What a service answers to an event, as `fetch` gives it. */
export type Answer = (event: APIGatewayProxyEvent, signal: AbortSignal) => Promise<Response>

const model = { name: 'test', memorySizeMb: 512, timeoutMs: 60_000, environment: {} }
const limits = { waitMs: 60_000, idleMs: 60_000 }

/** Of a handler that gives its answer in one piece. */
export function whole(handler: ApiHandler): Answer {
  return async (event) => {
    const { statusCode, headers, body, isBase64Encoded } = await handler(event, lambdaContext)
    const content = isBase64Encoded ? Buffer.from(body, 'base64') : body
    return new Response(content.length === 0 ? null : content, {
      status: statusCode,
      headers: headers as Record<string, string>,
    })
  }
}

/** Of a handler that streams, which writes as fast as the response is read, and whose failures break it. */
export function streamed(handler: StreamHandler): Answer {
  return (event, signal) => {
    const answer = Promise.withResolvers<Response>()
    const body = new PassThrough()
    const gone = new AbortController()
    signal.addEventListener('abort', () => body.destroy(signal.reason))
    body.once('close', () => gone.abort())
    const receiver = {
      head(head: unknown) {
        const { statusCode, headers } = head as { statusCode: number; headers: Record<string, string> }
        // Of these a response has no body at all.
        const bare = statusCode === 204 || statusCode === 304
        if (bare) body.resume()
        const content = bare ? null : (Readable.toWeb(body) as ReadableStream)
        answer.resolve(new Response(content, { status: statusCode, headers }))
      },
      piece(piece: Buffer, done: () => void) {
        if (body.write(piece)) done()
        else body.once('drain', done)
      },
      end: () => body.end(),
    }
    invokeStream(model, handler, event, limits, receiver, gone.signal).catch((error: Error) => {
      answer.reject(error)
      body.destroy(error)
    })
    return answer.promise
  }
}
