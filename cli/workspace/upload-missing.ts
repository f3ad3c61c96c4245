import pMap from 'p-map'
import type { BlobExchange, PresignedRequest } from '../../src/blobs/types.ts'
import { EXCHANGE_LIMIT } from '../../src/limits.ts'
import { withRequest } from '../transfer/retry.ts'
import { TRANSFERS, type Transport } from '../transfer/transport.ts'
import { FileChangedError, uploadFile } from '../transfer/upload.ts'
import { changing, type HashedFile, hashFile } from './hash.ts'
import { fileBlobKey } from './manifest.ts'
import { join } from './paths.ts'
import { readProblem } from './scan.ts'

/** How often a file may change under the upload before the push gives up on it. */
const MAX_CHANGES = 3

export interface UploadInput {
  root: string
  /** Files that turn out to have changed are hashed again in place; those that are gone are taken out. */
  hashed: Map<string, HashedFile>
  /** Keys that need no upload. */
  present: ReadonlySet<string>
  blobs: BlobExchange
  transport: Transport
  signal: AbortSignal
  /** Told the bytes ahead as they become known, and the bytes done. */
  progress: { add(bytes: number): void; advance(bytes: number): void }
}

/**
 * Uploads the blobs that the store does not have, one time each, from any file that has the content.
 * @throws RefusedError when a file does not hold still; the store's or the transfer's error otherwise.
 */
export async function uploadMissing(input: UploadInput): Promise<{ uploads: number; bytes: number }> {
  const settled = new Set(input.present)
  const changes = new Map<string, number>()
  const total = { uploads: 0, bytes: 0 }
  // Goes round again only when a file changed: its new content is a new blob.
  for (;;) {
    const wanted = wantedBlobs(input.hashed, settled)
    if (wanted.size === 0) return total
    const changed = new Set<string>()
    const keys = [...wanted.keys()]
    for (let start = 0; start < keys.length; start += EXCHANGE_LIMIT) {
      await uploadBatch(input, keys.slice(start, start + EXCHANGE_LIMIT), wanted, { settled, changed, total })
    }
    for (const path of changed) await hashAgain(input, path, changes)
  }
}

interface Outcome {
  settled: Set<string>
  changed: Set<string>
  total: { uploads: number; bytes: number }
}

function wantedBlobs(hashed: ReadonlyMap<string, HashedFile>, settled: ReadonlySet<string>): Map<string, string[]> {
  const wanted = new Map<string, string[]>()
  for (const [path, { sha256 }] of hashed) {
    const key = fileBlobKey(sha256)
    if (settled.has(key)) continue
    const paths = wanted.get(key)
    if (paths === undefined) wanted.set(key, [path])
    else paths.push(path)
  }
  return wanted
}

async function uploadBatch(
  input: UploadInput,
  keys: readonly string[],
  wanted: ReadonlyMap<string, readonly string[]>,
  outcome: Outcome,
): Promise<void> {
  const { hashed, blobs, signal, progress } = input
  const sizeOf = (key: string) => hashed.get(wanted.get(key)?.[0] ?? '')?.stamp.size ?? 0
  signal.throwIfAborted()
  const missing = await blobs.prepareUploads(keys.map((key) => ({ key, size: sizeOf(key) })))
  const uploads = new Map(missing.map(({ key, upload }) => [key, upload]))
  for (const key of keys) if (!uploads.has(key)) outcome.settled.add(key)
  progress.add(missing.reduce((sum, { key }) => sum + sizeOf(key), 0))
  await pMap(
    uploads,
    async ([key, upload]) => {
      const size = sizeOf(key)
      const done = await uploadFromAny(input, key, size, upload, wanted.get(key) ?? [], outcome.changed)
      if (!done) return
      outcome.settled.add(key)
      outcome.total.uploads += 1
      outcome.total.bytes += size
      progress.advance(size)
    },
    { concurrency: TRANSFERS, signal },
  )
}

/** False when every file that had the content has changed. */
async function uploadFromAny(
  { root, hashed, blobs, transport, signal }: UploadInput,
  key: string,
  size: number,
  upload: PresignedRequest,
  paths: readonly string[],
  changed: Set<string>,
): Promise<boolean> {
  const renew = async () => (await blobs.prepareUploads([{ key, size }]))[0]?.upload ?? null
  for (const path of paths) {
    const file = hashed.get(path)
    if (file === undefined) continue
    try {
      const send = (request: PresignedRequest) => uploadFile(transport, request, join(root, path), file, signal)
      await withRequest(upload, renew, send, undefined, signal)
      return true
    } catch (error) {
      if (!(error instanceof FileChangedError)) throw error
      await throwIfSame(error, join(root, path), path, file)
      changed.add(path)
    }
  }
  return false
}

/** A storage that refuses bytes that are still the hashed ones will not take them the next time either. */
async function throwIfSame(error: FileChangedError, file: string, path: string, hashed: HashedFile): Promise<void> {
  if (error.cause === undefined) return
  const now = await hashFile(file, path).catch(() => null)
  if (now?.sha256 === hashed.sha256) throw error.cause
}

async function hashAgain(
  { root, hashed, signal }: UploadInput,
  path: string,
  changes: Map<string, number>,
): Promise<void> {
  const seen = (changes.get(path) ?? 0) + 1
  changes.set(path, seen)
  if (seen > MAX_CHANGES) throw changing(path)
  try {
    hashed.set(path, await hashFile(join(root, path), path, signal))
  } catch (error) {
    if (readProblem(error) !== null) throw error
    hashed.delete(path)
  }
}
