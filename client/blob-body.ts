import type { BlobBody } from '../src/blobs/types.ts'
import { SandkeepNetworkError } from './errors.ts'

/** The body of a download, which fails when it ends with fewer or more bytes than the blob has. */
export function blobBody(url: string, size: number, body: ReadableStream<Uint8Array> | null): BlobBody {
  const stream = () => (body ?? new Blob([]).stream()).pipeThrough(counted(url, size))
  return {
    size,
    stream,
    async arrayBuffer() {
      // Not by way of Response: it would make a TypeError of each failure.
      const bytes = new Uint8Array(size)
      let offset = 0
      for await (const chunk of stream()) {
        bytes.set(chunk, offset)
        offset += chunk.length
      }
      return bytes.buffer
    },
  }
}

function counted(url: string, size: number): TransformStream<Uint8Array, Uint8Array> {
  let count = 0
  return new TransformStream({
    transform(chunk, controller) {
      count += chunk.length
      if (count > size) throw cutShort(url, `more than ${size} bytes`)
      controller.enqueue(chunk)
    },
    flush() {
      if (count < size) throw cutShort(url, `${count} of ${size} bytes`)
    },
  })
}

function cutShort(url: string, what: string): SandkeepNetworkError {
  return new SandkeepNetworkError(url, new Error(what))
}
