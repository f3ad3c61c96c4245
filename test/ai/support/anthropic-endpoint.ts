import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AnthropicFiles } from './anthropic-files.ts'
import { type Message, messageEvents, messageJson, sse } from './messages.ts'

/** A request as it came. */
export interface RecordedRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  bytes: Buffer
  /** The parsed body; undefined where it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it at will.
  body: any
  /** Settles when the connection was closed before the answer's end. */
  aborted: Promise<void>
}

/** A reply that is no message: an error, or bytes at the pace of the test. */
export interface RawReply {
  status?: number
  headers?: Record<string, string>
  body: string | Uint8Array | AsyncIterable<Uint8Array | string>
  /** Ends the connection instead of the answer. */
  broken?: boolean
}

export type Reply = Message | RawReply
type ReplyMaker = Reply | ((request: RecordedRequest) => Reply | Promise<Reply>)

/** The Messages and Files APIs on 127.0.0.1: messages are answered with what the test says, in its order. */
export interface AnthropicEndpoint {
  /** Without `/v1`. */
  url: string
  /** All requests to the Messages API. */
  requests: RecordedRequest[]
  /** All requests to the Files API. */
  fileRequests: RecordedRequest[]
  files: AnthropicFiles
  /** The replies to come; what was left of others is dropped. */
  replyWith(...replies: ReplyMaker[]): void
  /** The reply to all requests for which there is no other. */
  replyElse(reply: ReplyMaker): void
  stop(): Promise<void>
}

export const apiError = (status: number, type: string, message: string, headers: Record<string, string> = {}) =>
  ({
    status,
    headers: { 'content-type': 'application/json', 'request-id': 'req_upstream', ...headers },
    body: JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_upstream' }),
  }) satisfies RawReply

export async function startAnthropic(): Promise<AnthropicEndpoint> {
  const requests: RecordedRequest[] = []
  const fileRequests: RecordedRequest[] = []
  const files = new AnthropicFiles()
  let replies: ReplyMaker[] = []
  let other: ReplyMaker = apiError(500, 'api_error', 'The test has no reply to this.')

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const recorded = await record(request, response)
    if (recorded.path.startsWith('/v1/files')) {
      fileRequests.push(recorded)
      return files.handle(request, recorded.bytes, response)
    }
    requests.push(recorded)
    const next = replies.shift() ?? other
    const reply = typeof next === 'function' ? await next(recorded) : next
    await write(response, 'content' in reply ? rendered(reply, recorded) : reply)
  }
  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => response.destroy(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    fileRequests,
    files,
    replyWith: (...next) => {
      replies = next
      requests.length = 0
    },
    replyElse: (reply) => {
      other = reply
    },
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function record(request: IncomingMessage, response: ServerResponse): Promise<RecordedRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  const aborted = Promise.withResolvers<void>()
  response.on('close', () => {
    if (!response.writableFinished) aborted.resolve()
  })
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    bytes,
    body: parse(bytes),
    aborted: aborted.promise,
  }
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

function rendered(message: Message, { body }: RecordedRequest): RawReply {
  return body?.stream
    ? {
        headers: { 'content-type': 'text/event-stream; charset=utf-8' },
        body: sse(messageEvents(message, body.model)),
      }
    : {
        headers: { 'content-type': 'application/json', 'request-id': 'req_upstream' },
        body: JSON.stringify(messageJson(message, body?.model)),
      }
}

async function write(response: ServerResponse, { status = 200, headers = {}, body, broken }: RawReply): Promise<void> {
  response.writeHead(status, headers)
  if (typeof body === 'string' || body instanceof Uint8Array) {
    if (body.length > 0) await new Promise((resolve) => response.write(body, resolve))
  } else {
    await pipeline(Readable.from(body), response, { end: false }).catch(() => response.destroy())
  }
  if (broken) response.destroy()
  else response.end()
}
