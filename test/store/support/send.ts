import { request } from 'node:http'
import type { PresignedRequest } from '../../../src/blobs/types.ts'

/** Sends a presigned request with exactly its headers and no others but Host. */
export function send(
  { method, url, headers }: PresignedRequest,
  body: Uint8Array = new Uint8Array(),
): Promise<{ status: number; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, bytes: Buffer.concat(chunks) }))
    })
    outgoing.on('error', reject)
    outgoing.end(method === 'PUT' ? body : undefined)
  })
}
