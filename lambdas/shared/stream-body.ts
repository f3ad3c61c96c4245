import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { APIGatewayProxyResult } from 'aws-lambda'

/** What Lambda gives a streaming function to write to. */
export type ResponseStream = Writable & { setContentType(type: string): void }

type Piece = string | Uint8Array

/** A body that is given in pieces. A `Readable` is one. */
export type Pieces = AsyncIterable<Piece>

/** Pieces of which the first has been read: what fails before it can still be answered as an error. */
export interface BegunBody {
  first: IteratorResult<Piece>
  rest: AsyncIterator<Piece>
}

/** An answer without its body. */
export type AnswerHead = Pick<APIGatewayProxyResult, 'statusCode' | 'headers' | 'multiValueHeaders'>

// How API Gateway tells the head from the body: JSON, eight NUL bytes, and whatever comes then.
const HEAD_TYPE = 'application/vnd.awslambda.http-integration-response'
const HEAD_END = new Uint8Array(8)

/** @throws whatever the source throws for its first piece; the signal's reason when it is aborted before */
export async function beginBody(pieces: Pieces, signal: AbortSignal): Promise<BegunBody> {
  const rest = pieces[Symbol.asyncIterator]()
  return { first: await unlessAborted(signal, rest.next()), rest }
}

/** Aborted when nobody reads the stream any more. */
export function callerGone(stream: ResponseStream): AbortController {
  const gone = new AbortController()
  stream.on('error', () => gone.abort())
  stream.once('close', () => {
    if (!stream.writableFinished) gone.abort()
  })
  return gone
}

/**
 * Writes the answer and ends the stream, as fast as it is read. When it throws the stream is left open, for the runtime
 * to say that the function failed: ending it would make half a body a whole one.
 * @throws whatever the source throws, or the signal's reason when it is aborted
 */
export async function sendAnswer(
  stream: ResponseStream,
  { statusCode, headers, multiValueHeaders, body }: AnswerHead & { body: string | BegunBody },
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  stream.setContentType(HEAD_TYPE)
  stream.write(JSON.stringify({ statusCode, headers, multiValueHeaders }))
  stream.write(HEAD_END)
  if (typeof body === 'string') stream.write(body)
  else await sendPieces(stream, body, signal)
  await unlessAborted(signal, new Promise<void>((resolve) => stream.end(() => resolve())))
}

async function sendPieces(stream: ResponseStream, { first, rest }: BegunBody, signal: AbortSignal): Promise<void> {
  try {
    for (let piece = first; !piece.done; piece = await unlessAborted(signal, rest.next())) {
      if (!stream.write(plainBytes(piece.value))) await unlessAborted(signal, once(stream, 'drain', { signal }))
    }
  } catch (error) {
    // Not waited for: a source that is waiting itself would come to it only after that.
    rest.return?.().catch(() => undefined)
    throw error
  }
}

/** Lambda takes views other than `Uint8Array` and `Buffer` themselves for objects, and writes them as JSON. */
function plainBytes(piece: Piece): Piece {
  return typeof piece === 'string' ? piece : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
}

/** Unlike a race with one promise of the abort, this keeps nothing of what was waited for. */
function unlessAborted<T>(signal: AbortSignal, waiting: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
    waiting.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
