import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { HashedFile } from './hash.ts'
import { type FileStamp, sameContent } from './scan.ts'

/**
 * Remembers the hashes of one folder's files between runs, so that a file whose size, times and inode are unchanged
 * need not be read again. Losing it costs time only.
 */
export interface StatCache {
  /** The hash of the file with this stamp, if it is known. */
  lookup(path: string, stamp: FileStamp): string | undefined
  /**
   * Replaces the cache by these files, in one step. A file that was written as late as `startedAtMs` (when the scan
   * began) or within one step of the file system's clock before is left out: a later write could leave the same times.
   */
  save(files: ReadonlyMap<string, HashedFile>, startedAtMs: number): Promise<void>
}

const FORMAT = 'sandkeep-stat-cache-1'
const FINE_STEP_NS = 20_000_000n
/** FAT keeps times in steps of two seconds, others of one. */
const COARSE_STEP_NS = 2_000_000_000n
const NS_PER_MS = 1_000_000n
const NS_PER_S = 1_000_000_000n

/** Opens the cache of a folder (absolute path). A missing, foreign or damaged cache is an empty one. */
export async function openStatCache(cacheFolder: string, directory: string): Promise<StatCache> {
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 32)
  const file = join(cacheFolder, `${name}.stat`)
  const known = await load(file, directory)
  return {
    lookup(path, stamp) {
      const hashed = known.get(path)
      return hashed !== undefined && sameContent(hashed.stamp, stamp) ? hashed.sha256 : undefined
    },
    async save(files, startedAtMs) {
      await mkdir(cacheFolder, { recursive: true, mode: 0o700 })
      const temporary = `${file}.${randomUUID()}`
      try {
        await writeFile(temporary, serialize(directory, files, startedAtMs), { mode: 0o600 })
        await rename(temporary, file)
      } catch (error) {
        await rm(temporary, { force: true })
        throw error
      }
    },
  }
}

function serialize(directory: string, files: ReadonlyMap<string, HashedFile>, startedAtMs: number): string {
  const lines: string[] = []
  for (const [path, { sha256, stamp }] of files) {
    if (!isSettled(stamp, startedAtMs)) continue
    const { size, mtimeNs, ctimeNs, ino } = stamp
    lines.push(JSON.stringify([path, size, `${mtimeNs}`, `${ctimeNs}`, `${ino}`, sha256]))
  }
  return `${[JSON.stringify([FORMAT, directory, lines.length]), ...lines].join('\n')}\n`
}

function isSettled(stamp: FileStamp, startedAtMs: number): boolean {
  const step = stamp.ctimeNs % NS_PER_S === 0n ? COARSE_STEP_NS : FINE_STEP_NS
  const limit = BigInt(Math.floor(startedAtMs)) * NS_PER_MS - step
  return stamp.ctimeNs < limit && stamp.mtimeNs < limit
}

async function load(file: string, directory: string): Promise<Map<string, HashedFile>> {
  try {
    return parse(await readFile(file, 'utf8'), directory)
  } catch {
    // Whatever is wrong with it, the files themselves still hold everything.
    return new Map()
  }
}

function parse(text: string, directory: string): Map<string, HashedFile> {
  const lines = text.split('\n')
  const [format, owner, count] = JSON.parse(lines[0] ?? '') as unknown[]
  if (format !== FORMAT || owner !== directory || count !== lines.length - 2) return new Map()
  const files = new Map<string, HashedFile>()
  for (const line of lines.slice(1, -1)) {
    const [path, size, mtimeNs, ctimeNs, ino, sha256] = JSON.parse(line) as unknown[]
    if (typeof path !== 'string' || typeof size !== 'number' || typeof sha256 !== 'string') return new Map()
    if (!/^[0-9a-f]{64}$/.test(sha256)) return new Map()
    const stamp = { size, mtimeNs: nanoseconds(mtimeNs), ctimeNs: nanoseconds(ctimeNs), ino: nanoseconds(ino), mode: 0 }
    files.set(path, { sha256, stamp })
  }
  return files
}

function nanoseconds(value: unknown): bigint {
  if (typeof value !== 'string') throw new TypeError('not a number in text')
  return BigInt(value)
}
