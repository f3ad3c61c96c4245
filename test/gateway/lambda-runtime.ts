import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { StreamHandler } from '../../lambdas/shared/stream.ts'
import { lambdaContext } from '../http/support/events.ts'

type Event = Parameters<StreamHandler>[0]
type ResponseStream = Parameters<StreamHandler>[1]

/** What Lambda gets of a streamed answer. */
export interface Received {
  contentType: string | undefined
  /** What stands before the eight NUL bytes, parsed. */
  head: { statusCode: number; headers: Record<string, string> }
  body: Buffer
  /** What the trailer says that tells of a failure. */
  failure: string | undefined
}

/**
 * Runs a handler as the runtime for Node.js does, over a connection to a server that stands for Lambda: what the
 * handler writes is a chunked HTTP request, and what it throws becomes a trailer at its end.
 */
export async function runOnLambda(handler: StreamHandler, event: Event): Promise<Received> {
  const received = Promise.withResolvers<Received>()
  const server = http.createServer(async (message, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of message) chunks.push(chunk)
    response.end()
    const all = Buffer.concat(chunks)
    const end = all.indexOf(Buffer.alloc(8))
    received.resolve({
      contentType: message.headers['content-type'],
      head: JSON.parse(all.toString('utf8', 0, end)),
      body: all.subarray(end + 8),
      failure: message.trailers['function-error'],
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const headers = { trailer: 'function-error' }
  const request = http.request({ port, host: '127.0.0.1', method: 'POST', headers, agent: false })
  try {
    await handler(event, responseStream(request), lambdaContext)
    if (!request.writableEnded) throw new Error('The response stream is not finished.')
  } catch (error) {
    request.addTrailers({ 'function-error': (error as Error).message })
    request.end()
  }
  const result = await received.promise
  server.close()
  return result
}

/** The request as a handler sees it: `end` takes no data, and what is neither text nor plain bytes becomes JSON. */
function responseStream(request: http.ClientRequest): ResponseStream {
  const bound = Object.fromEntries(
    (['destroy', 'emit', 'off', 'on', 'once', 'removeListener'] as const).map((name) => [
      name,
      (request[name] as (...given: unknown[]) => unknown).bind(request),
    ]),
  )
  const stream = {
    ...bound,
    end: (done?: () => void) => request.end(done),
    write(chunk: unknown) {
      const plain = typeof chunk === 'string' || Buffer.isBuffer(chunk) || chunk?.constructor === Uint8Array
      return request.write(plain ? chunk : JSON.stringify(chunk))
    },
    setContentType: (type: string) => request.setHeader('content-type', type),
    get writableFinished() {
      return request.writableFinished
    },
  }
  return stream as unknown as ResponseStream
}
