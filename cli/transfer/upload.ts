import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { PresignedRequest } from '../../src/blobs/types.ts'
import { TransferError } from '../errors.ts'
import { type HashedFile, openFile } from '../workspace/hash.ts'
import { readProblem, sameContent, stampOf } from '../workspace/scan.ts'
import { drain, refusal, type Transport } from './transport.ts'

const CHUNK_BYTES = 65_536

/** The file is not the one that was hashed; nothing of it was stored under the old hash. */
export class FileChangedError extends Error {
  override name = 'FileChangedError'
}

/**
 * Uploads a file's bytes as they were hashed. The storage checks the SHA-256, so bytes that changed on the way are
 * refused there; a blob that is there already is success.
 * @throws FileChangedError when the file is not the hashed one any more; TransferError when the storage refuses.
 */
export async function uploadFile(
  transport: Transport,
  request: PresignedRequest,
  path: string,
  hashed: HashedFile,
  signal: AbortSignal,
): Promise<void> {
  const handle = await openFile(path).catch((error: unknown) => {
    throw readProblem(error) === undefined ? error : new FileChangedError(path, { cause: error })
  })
  try {
    const isUnchanged = async () => sameContent(stampOf(await handle.stat({ bigint: true })), hashed.stamp)
    if (!(await isUnchanged())) throw new FileChangedError(path)
    const { size } = hashed.stamp
    const stream = size === 0 ? null : Readable.from(chunksOf(handle, size), { objectMode: false })
    try {
      const answer = await transport.send(request, { stream, size }, signal)
      if (answer.statusCode !== 200 && answer.statusCode !== 412) throw await refusal(answer, 'an upload')
      await drain(answer)
    } catch (error) {
      if (!signal.aborted && !(await isUnchanged())) throw new FileChangedError(path, { cause: error })
      throw error
    } finally {
      stream?.destroy()
    }
  } catch (error) {
    if (error instanceof TransferError && error.status === 400) throw new FileChangedError(path, { cause: error })
    throw error
  } finally {
    await handle.close()
  }
}

/** Not the handle's own stream: that one closes the handle, which is still needed to see whether the file changed. */
async function* chunksOf(handle: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < size; ) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - position))
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position)
    if (bytesRead === 0) return
    yield chunk.subarray(0, bytesRead)
    position += bytesRead
  }
}
