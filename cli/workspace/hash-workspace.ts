import pMap from 'p-map'
import { MAX_BLOB_BYTES } from '../../src/limits.ts'
import { formatBytes } from '../format.ts'
import { type HashedFile, hashFile } from './hash.ts'
import { join } from './paths.ts'
import { readProblem, type ScannedEntry, type Unsupported } from './scan.ts'
import type { StatCache } from './stat-cache.ts'

/** Eight chunks of 256 KiB are in memory at most. */
const HASH_CONCURRENCY = 8

export interface HashedWorkspace {
  /** By path. A file that is gone since the scan is not in it. */
  hashed: Map<string, HashedFile>
  unsupported: Unsupported[]
  /** How many files were read; the others are known from the stat cache. */
  read: number
}

/**
 * The hash of every file of a scan, read in parallel where the stat cache does not know it.
 * @throws RefusedError when a file does not hold still.
 */
export async function hashWorkspace(input: {
  root: string
  entries: ReadonlyArray<ScannedEntry>
  cache: StatCache
  signal: AbortSignal
  /** Told before the reading starts, and after each file. */
  progress: { start(files: number): void; advance(): void }
}): Promise<HashedWorkspace> {
  const { root, entries, cache, signal, progress } = input
  const result: HashedWorkspace = { hashed: new Map(), unsupported: [], read: 0 }
  const unknown: string[] = []
  for (const entry of entries) {
    if (entry.kind !== 'file') continue
    const sha256 = cache.lookup(entry.path, entry.stamp)
    if (sha256 !== undefined) result.hashed.set(entry.path, { sha256, stamp: entry.stamp })
    else if (entry.stamp.size > MAX_BLOB_BYTES) result.unsupported.push({ path: entry.path, problem: tooLarge() })
    else unknown.push(entry.path)
  }
  progress.start(unknown.length)
  await pMap(
    unknown,
    async (path) => {
      try {
        result.hashed.set(path, await hashFile(join(root, path), path, signal))
        result.read += 1
      } catch (error) {
        const problem = readProblem(error)
        if (problem === undefined) throw error
        if (problem !== null) result.unsupported.push({ path, problem })
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
