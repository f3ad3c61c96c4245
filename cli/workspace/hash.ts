import { createHash, hash as oneHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { FileChangingError } from '../errors.ts'
import { printablePath } from '../format.ts'
import { type FileStamp, sameContent, stampOf } from './scan.ts'

const CHUNK_BYTES = 262_144
const ATTEMPTS = 3
/** No symlink is followed, and a FIFO that took the file's place cannot block. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

export interface HashedFile {
  sha256: string
  /** As it was before and after the bytes were read. */
  stamp: FileStamp
}

/** Opens a file for reading, never through a symlink in its last component. */
export function openFile(path: string): Promise<FileHandle> {
  return open(path, OPEN_FLAGS)
}

/**
 * The SHA-256 (hex) of a file that holds still while it is read. Memory: one chunk of 256 KiB.
 * @throws FileChangingError when it changes during each of three readings or is not a regular file any more; the file
 * system's error otherwise.
 */
export async function hashFile(path: string, label: string, signal?: AbortSignal): Promise<HashedFile> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const handle = await openStill(path, label)
    try {
      const before = stampOf(await handle.stat({ bigint: true }))
      const sha256 = await hashHandle(handle, before.size, signal)
      const after = stampOf(await handle.stat({ bigint: true }))
      if (sameContent(before, after)) return { sha256, stamp: after }
    } finally {
      await handle.close()
    }
  }
  throw changing(label)
}

/** The error for a file that does not hold still. */
export function changing(label: string): FileChangingError {
  return new FileChangingError(
    `${printablePath(label)} keeps changing while it is read. Stop what writes to it (or add it to .sandkeepignore) and try again.`,
  )
}

async function openStill(path: string, label: string): Promise<FileHandle> {
  let handle: FileHandle
  try {
    handle = await openFile(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ELOOP' || error.code === 'ENXIO')) {
      throw changing(label)
    }
    throw error
  }
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw changing(label)
}

async function hashHandle(handle: FileHandle, size: number, signal: AbortSignal | undefined): Promise<string> {
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size))
  let position = 0
  const readNext = async () => {
    signal?.throwIfAborted()
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position)
    position += bytesRead
    return chunk.subarray(0, bytesRead)
  }
  // Most files are read at once. Their hash needs no object of its own, whose memory waits for the garbage collector.
  if (size === 0) return oneHash('sha256', chunk)
  const first = await readNext()
  if (position >= size) return oneHash('sha256', first)
  const hash = createHash('sha256').update(first)
  // Beyond its size there is nothing to read, or the file grows and this reading is in vain.
  for (let read = first.length; read > 0 && position < size; ) {
    const next = await readNext()
    hash.update(next)
    read = next.length
  }
  return hash.digest('hex')
}
