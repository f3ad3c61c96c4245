import { createHash, hash as oneHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { PresignedRequest } from '../../src/blobs/types.ts'
import { DamagedContentError } from '../errors.ts'
import { refusal, type Transport } from './transport.ts'

/**
 * Downloads one blob into a file that only the caller can read, and checks that it is what it should be.
 * @throws TransferError when the answer is not 200, DamagedContentError when its bytes are not the expected ones.
 */
export async function downloadBlob(
  transport: Transport,
  request: PresignedRequest,
  expected: { sha256: string; size: number },
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const answer = await transport.send(request, null, signal)
  if (answer.statusCode !== 200) throw await refusal(answer, 'a download')
  const handle = await open(file, 'w', 0o600)
  try {
    const hash = createHash('sha256')
    let size = 0
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > expected.size) break
      hash.update(chunk)
      for (let written = 0; written < chunk.length; ) {
        written += (await handle.write(chunk, written)).bytesWritten
      }
    }
    check({ size, sha256: hash.digest('hex') }, expected)
  } finally {
    if (!answer.complete) answer.destroy()
    await handle.close()
  }
}

/**
 * Downloads one small blob into memory, and checks that it is what it should be.
 * @throws as `downloadBlob`
 */
export async function readBlob(
  transport: Transport,
  request: PresignedRequest,
  expected: { sha256: string; size: number },
  signal: AbortSignal,
): Promise<Buffer> {
  const answer = await transport.send(request, null, signal)
  if (answer.statusCode !== 200) throw await refusal(answer, 'a download')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > expected.size) break
    chunks.push(chunk)
  }
  const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
  check({ size, sha256: oneHash('sha256', bytes) }, expected)
  return bytes
}

function check(came: { sha256: string; size: number }, expected: { sha256: string; size: number }): void {
  if (came.size === expected.size && came.sha256 === expected.sha256) return
  throw new DamagedContentError(
    `A download came as ${came.size} bytes with hash ${came.sha256} instead of ${expected.size} bytes with hash ${expected.sha256}.`,
  )
}
