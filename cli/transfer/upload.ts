import type { FileHandle } from 'node:fs/promises'
import type { PresignedRequest } from '../../src/blobs/types.ts'
import { TransferError } from '../errors.ts'
import { openFile } from '../workspace/hash.ts'
import { type FileStamp, readProblem, sameContent, stampOf } from '../workspace/scan.ts'
import { drain, refusal, type Transport } from './transport.ts'

const CHUNK_BYTES = 131_072

/** The file is not the one that was hashed; nothing of it was stored under the old hash. */
export class FileChangedError extends Error {
  override name = 'FileChangedError'
}

/**
 * Uploads a file's bytes as they were hashed; `stamp`: the file's at that time. The storage checks the SHA-256, so bytes that changed on the way are
 * refused there; a blob that is there already is success.
 * @throws FileChangedError when the file is not the hashed one any more; TransferError when the storage refuses.
 */
export async function uploadFile(
  transport: Transport,
  request: PresignedRequest,
  path: string,
  stamp: FileStamp,
  signal: AbortSignal,
): Promise<void> {
  const handle = await openFile(path).catch((error: unknown) => {
    throw readProblem(error) === undefined ? error : new FileChangedError(path, { cause: error })
  })
  try {
    const isUnchanged = async () => sameContent(stampOf(await handle.stat({ bigint: true })), stamp)
    if (!(await isUnchanged())) throw new FileChangedError(path)
    const { size } = stamp
    try {
      const answer = await transport.send(request, { chunks: chunksOf(handle, size), size }, signal)
      if (answer.statusCode !== 200 && answer.statusCode !== 412) throw await refusal(answer, 'an upload')
      await drain(answer)
    } catch (error) {
      if (!signal.aborted && !(await isUnchanged())) throw new FileChangedError(path, { cause: error })
      throw error
    }
  } catch (error) {
    if (error instanceof TransferError && error.status === 400) throw new FileChangedError(path, { cause: error })
    throw error
  } finally {
    await handle.close()
  }
}

/** All in the same memory: each chunk is gone when the next one is asked for. */
async function* chunksOf(handle: FileHandle, size: number): AsyncGenerator<Buffer> {
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size))
  for (let position = 0; position < size; ) {
    const { bytesRead } = await handle.read(chunk, 0, Math.min(chunk.length, size - position), position)
    if (bytesRead === 0) return
    yield chunk.subarray(0, bytesRead)
    position += bytesRead
  }
}
