import pMap from 'p-map'
import type { BlobExchange, PresignedRequest } from '../../src/blobs/types.ts'
import { EXCHANGE_LIMIT } from '../../src/limits.ts'
import { FileChangingError } from '../errors.ts'
import { withRequest } from '../transfer/retry.ts'
import { TRANSFERS, type Transport } from '../transfer/transport.ts'
import { FileChangedError, uploadFile } from '../transfer/upload.ts'
import { changing, hashFile } from './hash.ts'
import { fileBlobKey } from './manifest.ts'
import { join } from './paths.ts'
import { readProblem, type ScannedFile } from './scan.ts'

/** How often a file may change under the upload before the push gives up on it. */
const MAX_CHANGES = 3

export interface UploadInput {
  root: string
  /** Those without a hash are passed over. One that turns out to have changed gets a new hash, one that is gone none. */
  files: ReadonlyArray<ScannedFile>
  /** Keys that need no upload; all that turn out to be in the store are added. */
  settled: Set<string>
  blobs: BlobExchange
  /** Take the hash from a file that does not hold still, instead of failing. */
  skipRestless: boolean
  transport: Transport
  signal: AbortSignal
  /** Told the bytes ahead as they become known, and the bytes done. */
  progress: { add(bytes: number): void; advance(bytes: number): void }
}

/**
 * Uploads the blobs that the store does not have, one time each, from any file that has the content.
 * @returns with the paths of the files that did not hold still, where those are skipped
 * @throws FileChangingError when a file does not hold still; the store's or the transfer's error otherwise.
 */
export async function uploadMissing(
  input: UploadInput,
): Promise<{ uploads: number; bytes: number; restless: string[] }> {
  const { settled } = input
  const changes = new Map<ScannedFile, number>()
  const total = { uploads: 0, bytes: 0 }
  const restless: string[] = []
  // Goes round again only when a file changed: its new content is a new blob.
  for (;;) {
    const changed = new Set<ScannedFile>()
    for (const wanted of wantedBlobs(input.files, settled)) {
      await uploadBatch(input, wanted, { settled, changed, total })
    }
    if (changed.size === 0) return { ...total, restless }
    for (const file of changed) {
      try {
        await hashAgain(input, file, changes)
      } catch (error) {
        if (!input.skipRestless || !(error instanceof FileChangingError)) throw error
        file.sha256 = null
        restless.push(file.path)
      }
    }
  }
}

interface Outcome {
  settled: Set<string>
  changed: Set<ScannedFile>
  total: { uploads: number; bytes: number }
}

/** The blobs that are not settled, with files that have the content, as many at a time as one exchange takes. */
function* wantedBlobs(
  files: ReadonlyArray<ScannedFile>,
  settled: ReadonlySet<string>,
): Generator<Map<string, ScannedFile[]>> {
  let wanted = new Map<string, ScannedFile[]>()
  for (const file of files) {
    if (file.sha256 === null) continue
    const key = fileBlobKey(file.sha256)
    const same = wanted.get(key)
    if (same !== undefined) same.push(file)
    else if (!settled.has(key)) wanted.set(key, [file])
    if (wanted.size < EXCHANGE_LIMIT) continue
    yield wanted
    wanted = new Map()
  }
  if (wanted.size > 0) yield wanted
}

async function uploadBatch(
  input: UploadInput,
  wanted: ReadonlyMap<string, readonly ScannedFile[]>,
  outcome: Outcome,
): Promise<void> {
  const { blobs, signal, progress } = input
  const sizeOf = (key: string) => wanted.get(key)?.[0]?.stamp.size ?? 0
  signal.throwIfAborted()
  const missing = await blobs.prepareUploads([...wanted.keys()].map((key) => ({ key, size: sizeOf(key) })))
  const uploads = new Map(missing.map(({ key, upload }) => [key, upload]))
  for (const key of wanted.keys()) if (!uploads.has(key)) outcome.settled.add(key)
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
  { root, blobs, transport, signal }: UploadInput,
  key: string,
  size: number,
  upload: PresignedRequest,
  files: readonly ScannedFile[],
  changed: Set<ScannedFile>,
): Promise<boolean> {
  const renew = async () => (await blobs.prepareUploads([{ key, size }]))[0]?.upload ?? null
  for (const file of files) {
    const path = join(root, file.path)
    try {
      const send = (request: PresignedRequest) => uploadFile(transport, request, path, file.stamp, signal)
      await withRequest(upload, renew, send, undefined, signal)
      return true
    } catch (error) {
      if (!(error instanceof FileChangedError)) throw error
      await throwIfSame(error, path, file)
      changed.add(file)
    }
  }
  return false
}

/** A storage that refuses bytes that are still the hashed ones will not take them the next time either. */
async function throwIfSame(error: FileChangedError, path: string, file: ScannedFile): Promise<void> {
  if (error.cause === undefined) return
  const now = await hashFile(path, file.path).catch(() => null)
  if (now?.sha256 === file.sha256) throw error.cause
}

async function hashAgain(
  { root, signal }: UploadInput,
  file: ScannedFile,
  changes: Map<ScannedFile, number>,
): Promise<void> {
  const seen = (changes.get(file) ?? 0) + 1
  changes.set(file, seen)
  if (seen > MAX_CHANGES) throw changing(file.path)
  try {
    Object.assign(file, await hashFile(join(root, file.path), file.path, signal))
  } catch (error) {
    if (readProblem(error) !== null) throw error
    file.sha256 = null
  }
}
