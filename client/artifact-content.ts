import { createHash } from 'node:crypto'
import { InvalidInputError, PayloadTooLargeError } from '../src/errors.ts'
import { MAX_ARTIFACT_BYTES } from '../src/limits.ts'

/** What the bytes of an artifact may come from. A stream is read to its end before anything is sent. */
export type ArtifactContent =
  | Blob
  | Uint8Array
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | { path: string }

/** Bytes of known length, which can be read as often as needed. A file stays on the disk. */
export async function blobOf(content: ArtifactContent): Promise<Blob> {
  if (content instanceof Blob) return checkSize(content)
  if (content instanceof Uint8Array) return checkSize(new Blob([content as Uint8Array<ArrayBuffer>]))
  if (isStream(content)) return collect(content)
  if (typeof content?.path === 'string') {
    const [{ openAsBlob }, { stat }] = await Promise.all([import('node:fs'), import('node:fs/promises')])
    // To say what is wrong with the path: the blob's own error does not.
    await stat(content.path)
    return checkSize(await openAsBlob(content.path))
  }
  throw new InvalidInputError('content', 'content must be a Blob, bytes, a stream of bytes, or { path }.')
}

function isStream(content: ArtifactContent): content is ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> {
  return typeof content === 'object' && content !== null && Symbol.asyncIterator in content
}

/** SHA-256 in hex. */
export async function sha256Of(blob: Blob): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of blob.stream()) hash.update(chunk)
  return hash.digest('hex')
}

/** The same bytes; `onBytes` is told how many have been read, each time that they are sent from the beginning. */
export function counted(blob: Blob, onBytes: (sent: number) => void): Blob {
  return new CountedBlob(blob, onBytes)
}

/** `fetch` takes the length of a blob from it, and then reads its stream as it sends. */
class CountedBlob extends Blob {
  readonly #onBytes: (sent: number) => void

  constructor(blob: Blob, onBytes: (sent: number) => void) {
    super([blob])
    this.#onBytes = onBytes
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    let sent = 0
    const transform = (chunk: Uint8Array<ArrayBuffer>, controller: TransformStreamDefaultController) => {
      sent += chunk.length
      this.#onBytes(sent)
      controller.enqueue(chunk)
    }
    return super
      .stream()
      .pipeThrough(new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({ transform }))
  }
}

async function collect(stream: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for await (const chunk of stream) {
    if (!(chunk instanceof Uint8Array)) throw new InvalidInputError('content', 'content must be a stream of bytes.')
    size += chunk.length
    if (size > MAX_ARTIFACT_BYTES) throw tooLarge('more than')
    // A copy: whoever makes the stream may use its buffer again.
    chunks.push(chunk.slice() as Uint8Array<ArrayBuffer>)
  }
  return new Blob(chunks)
}

function checkSize(blob: Blob): Blob {
  if (blob.size > MAX_ARTIFACT_BYTES) throw tooLarge(String(blob.size))
  return blob
}

function tooLarge(size: string): PayloadTooLargeError {
  return new PayloadTooLargeError(`The artifact has ${size} bytes; it may have at most ${MAX_ARTIFACT_BYTES}.`, {
    field: 'content',
  })
}
