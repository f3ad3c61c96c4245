import type { IncomingMessage } from 'node:http'
import { MAX_PAYLOAD_BYTES } from './limits.ts'

/** Whether the request says by itself that its body is too large. */
export function declaresTooMuch(message: IncomingMessage): boolean {
  return Number(message.headers['content-length'] ?? 0) > MAX_PAYLOAD_BYTES
}

/** Reads the whole body. @throws the error of a body that is too large, leaving the rest unread */
export async function readBody(message: IncomingMessage, tooLarge: () => Error): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  // Not by iterating over the message: leaving a loop early would cut the connection before the answer is sent.
  const done = Promise.withResolvers<void>()
  const onData = (chunk: Buffer): void => {
    size += chunk.length
    if (size > MAX_PAYLOAD_BYTES) done.reject(tooLarge())
    else chunks.push(chunk)
  }
  message.on('data', onData)
  message.once('end', done.resolve)
  message.once('error', done.reject)
  message.once('close', () => done.reject(new Error('The client went away.')))
  try {
    await done.promise
    return Buffer.concat(chunks, size)
  } finally {
    message.off('data', onData)
  }
}
