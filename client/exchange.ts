import { StringDecoder } from 'node:string_decoder'
import { SandkeepNetworkError } from './errors.ts'
import type { Connection } from './options.ts'

export interface HttpRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body?: string | Uint8Array | Blob
}

export interface HttpAnswer {
  status: number
  headers: Headers
  text: string
}

export interface BytesAnswer extends Omit<HttpAnswer, 'text'> {
  bytes: Uint8Array<ArrayBuffer>
}

/** Transfers may be as slow as this before they count as stuck, on top of the time for one request. */
const BYTES_PER_MS = 64

/**
 * One request and its whole answer.
 * @throws SandkeepNetworkError; the signal's reason when the caller ended it
 */
export async function exchange(connection: Connection, request: HttpRequest): Promise<HttpAnswer> {
  return guarded(connection, request, async (signal) => {
    const response = await send(connection, request, signal)
    return { status: response.status, headers: response.headers, text: await readText(response) }
  })
}

/** As `exchange`, for an answer that is not text. */
export async function exchangeBytes(connection: Connection, request: HttpRequest): Promise<BytesAnswer> {
  return guarded(connection, request, async (signal) => {
    const response = await send(connection, request, signal)
    return {
      status: response.status,
      headers: response.headers,
      bytes: new Uint8Array(await response.arrayBuffer()),
    }
  })
}

/** One request, and its answer as soon as the headers are there: the body has no time limit of ours. */
export async function open(connection: Connection, request: HttpRequest): Promise<Response> {
  return guarded(connection, request, (signal) => send(connection, request, signal))
}

function send(
  { fetch }: Connection,
  { url, method, headers, body }: HttpRequest,
  signal: AbortSignal,
): Promise<Response> {
  return fetch(url, {
    method,
    headers,
    redirect: 'manual',
    signal,
    // The cast says what holds: no body of ours stands on shared memory.
    ...(body !== undefined && { body: body as string | Uint8Array<ArrayBuffer> | Blob }),
  })
}

async function guarded<T>(
  { timeoutMs, signal }: Connection,
  { url, body }: HttpRequest,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted()
  const limit = timeoutMs + Math.floor(lengthOf(body) / BYTES_PER_MS)
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(new Error(`nothing within ${limit} ms`)), limit)
  try {
    return await work(signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal)
  } catch (cause) {
    signal?.throwIfAborted()
    throw new SandkeepNetworkError(url, cause)
  } finally {
    clearTimeout(timer)
  }
}

function lengthOf(body: HttpRequest['body']): number {
  if (body === undefined) return 0
  return body instanceof Blob ? body.size : body.length
}

/** As `response.text()`, but the bytes of a large body never stand in memory as a whole beside the text. */
async function readText(response: Response): Promise<string> {
  if (response.body === null) return ''
  const decoder = new StringDecoder('utf8')
  let text = ''
  for await (const chunk of response.body) text += decoder.write(chunk)
  return text + decoder.end()
}
