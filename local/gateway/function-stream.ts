import { Writable } from 'node:stream'
import { MAX_HEAD_BYTES, MAX_STREAM_BYTES } from './limits.ts'

const HEAD_TYPE = 'application/vnd.awslambda.http-integration-response'
const HEAD_END = Buffer.alloc(8)

/** Where the pieces of a streamed answer go. */
export interface StreamReceiver {
  /** The parsed head. What it throws breaks the stream. */
  head(head: unknown): void
  /** Takes the piece, and calls back when there is room for more. */
  piece(piece: Buffer, done: () => void): void
  /** The answer is whole. */
  end(): void
}

/**
 * What a streaming function writes to: takes the head off what is written, and passes on the rest as it comes. It errs
 * on what is no head followed by eight NUL bytes, and on more bytes than Lambda streams.
 */
export class FunctionStream extends Writable {
  readonly #receiver: StreamReceiver
  #contentType = 'application/octet-stream'
  #bytes = 0
  /** What came before the end of the head; undefined behind it. */
  #head: Buffer | undefined = Buffer.alloc(0)

  constructor(receiver: StreamReceiver) {
    // As large as the buffer of the connection between a function and Lambda.
    super({ highWaterMark: 16_384 })
    this.#receiver = receiver
  }

  setContentType(type: string): void {
    if (this.#bytes > 0) throw new Error('The content type comes before what is written.')
    this.#contentType = type
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#bytes += chunk.length
    try {
      if (this.#bytes > MAX_STREAM_BYTES) throw new Error('A function streams at most 200 MB.')
      const piece = this.#head === undefined ? chunk : this.#readHead(this.#head, chunk)
      if (piece.length > 0) this.#receiver.piece(piece, done)
      else done()
    } catch (error) {
      done(error as Error)
    }
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#head !== undefined) {
      done(new Error('The function ended its answer before its head.'))
      return
    }
    this.#receiver.end()
    done()
  }

  /** @returns what follows the head in these bytes */
  #readHead(before: Buffer, chunk: Buffer): Buffer {
    if (this.#contentType !== HEAD_TYPE) throw new Error(`A streamed answer must have the type ${HEAD_TYPE}.`)
    const all = Buffer.concat([before, chunk])
    const end = all.indexOf(HEAD_END)
    if (end < 0 ? all.length > MAX_HEAD_BYTES : end + HEAD_END.length > MAX_HEAD_BYTES) {
      throw new Error(`The head of a streamed answer must end within ${MAX_HEAD_BYTES} bytes.`)
    }
    if (end < 0) {
      this.#head = all
      return Buffer.alloc(0)
    }
    this.#receiver.head(JSON.parse(all.toString('utf8', 0, end)))
    this.#head = undefined
    return all.subarray(end + HEAD_END.length)
  }
}
