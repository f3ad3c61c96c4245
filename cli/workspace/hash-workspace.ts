import pMap from 'p-map'
import { MAX_BLOB_BYTES } from '../../src/limits.ts'
import { FileChangingError } from '../errors.ts'
import { formatBytes } from '../format.ts'
import { hashFile } from './hash.ts'
import { join } from './paths.ts'
import { readProblem, type ScannedFile, type Unsupported } from './scan.ts'
import type { StatCache } from './stat-cache.ts'

/** Eight chunks of 256 KiB are in memory at most. */
const HASH_CONCURRENCY = 8

export interface HashedWorkspace {
  unsupported: Unsupported[]
  /** Files that did not hold still; they have no hash. */
  restless: string[]
  /** How many files were read; the others are known from the stat cache. */
  read: number
}

/**
 * Gives every file of a scan its hash, read in parallel where the stat cache does not know it. One that is gone since the
 * scan keeps none.
 * @throws FileChangingError when a file does not hold still, unless `skipRestless`.
 */
export async function hashWorkspace(input: {
  root: string
  /** By path. */
  files: ReadonlyArray<ScannedFile>
  cache: StatCache
  skipRestless: boolean
  signal: AbortSignal
  /** Told before the reading starts, and after each file. */
  progress: { start(files: number): void; advance(): void }
}): Promise<HashedWorkspace> {
  const { root, files, cache, skipRestless, signal, progress } = input
  const result: HashedWorkspace = { unsupported: [], restless: [], read: 0 }
  const unknown: ScannedFile[] = []
  for await (const [file, recall] of cache.along(files)) {
    file.sha256 = recall(file.stamp)
    if (file.sha256 !== null) continue
    if (file.stamp.size > MAX_BLOB_BYTES) result.unsupported.push({ path: file.path, problem: tooLarge() })
    else unknown.push(file)
  }
  progress.start(unknown.length)
  await pMap(
    unknown,
    async (file) => {
      const { path } = file
      try {
        Object.assign(file, await hashFile(join(root, path), path, signal))
        result.read += 1
      } catch (error) {
        const problem = readProblem(error)
        if (skipRestless && error instanceof FileChangingError) result.restless.push(path)
        else if (problem === undefined) throw error
        else if (problem !== null) result.unsupported.push({ path, problem })
      }
      progress.advance()
    },
    { concurrency: HASH_CONCURRENCY, signal },
  )
  return result
}

function tooLarge(): string {
  return `it is larger than ${formatBytes(MAX_BLOB_BYTES)}`
}
