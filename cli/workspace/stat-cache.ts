import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { HashedFile } from './hash.ts'
import type { FileStamp } from './scan.ts'

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
   * From then on nothing is looked up any more.
   */
  save(files: ReadonlyMap<string, HashedFile>, startedAtMs: number): Promise<void>
}

const FORMAT = 'sandkeep-stat-cache-1'
const FINE_STEP_NS = 20_000_000n
/** FAT keeps times in steps of two seconds, others of one. */
const COARSE_STEP_NS = 2_000_000_000n
const NS_PER_MS = 1_000_000n
const NS_PER_S = 1_000_000_000n
const SHA256_LENGTH = 64
const LINE = /^\d+ \d+ \d+ \d+ [0-9a-f]{64}$/

/** How many lines are made before they are written: the cache of a large folder never stands in memory as one text. */
const LINES_PER_WRITE = 1_000
const NEWLINE = 0x0a

/** Opens the cache of a folder (absolute path). A missing, foreign or damaged cache is an empty one. */
export async function openStatCache(cacheFolder: string, directory: string): Promise<StatCache> {
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 32)
  const file = join(cacheFolder, `${name}.stat`)
  const known = await load(file, directory)
  return {
    lookup(path, stamp) {
      const line = known.get(path)
      return line?.startsWith(stampText(stamp)) ? line.slice(-SHA256_LENGTH) : undefined
    },
    async save(files, startedAtMs) {
      known.clear()
      await mkdir(cacheFolder, { recursive: true, mode: 0o700 })
      const temporary = `${file}.${randomUUID()}`
      try {
        await write(temporary, directory, files, startedAtMs)
        await rename(temporary, file)
      } catch (error) {
        await rm(temporary, { force: true })
        throw error
      }
    },
  }
}

/** All that has to be the same, as one text: small to keep, quick to compare. */
function stampText({ size, mtimeNs, ctimeNs, ino }: FileStamp): string {
  return `${size} ${mtimeNs} ${ctimeNs} ${ino} `
}

/** One line a file, as JSON: its path, its stamp and hash. The first line tells how many there are. */
async function write(
  temporary: string,
  directory: string,
  files: ReadonlyMap<string, HashedFile>,
  startedAtMs: number,
): Promise<void> {
  const settled = [...files].filter(([, { stamp }]) => isSettled(stamp, startedAtMs))
  const handle = await open(temporary, 'wx', 0o600)
  try {
    await handle.appendFile(`${JSON.stringify([FORMAT, directory, settled.length])}\n`)
    for (let start = 0; start < settled.length; start += LINES_PER_WRITE) {
      const lines = settled
        .slice(start, start + LINES_PER_WRITE)
        .map(([path, { sha256, stamp }]) => `${JSON.stringify([path, stampText(stamp) + sha256])}\n`)
      await handle.appendFile(lines.join(''))
    }
  } finally {
    await handle.close()
  }
}

function isSettled(stamp: FileStamp, startedAtMs: number): boolean {
  const step = stamp.ctimeNs % NS_PER_S === 0n ? COARSE_STEP_NS : FINE_STEP_NS
  const limit = BigInt(Math.floor(startedAtMs)) * NS_PER_MS - step
  return stamp.ctimeNs < limit && stamp.mtimeNs < limit
}

async function load(file: string, directory: string): Promise<Map<string, string>> {
  try {
    return parse(await readFile(file), directory)
  } catch {
    // Whatever is wrong with it, the files themselves still hold everything.
    return new Map()
  }
}

function parse(bytes: Buffer, directory: string): Map<string, string> {
  const files = new Map<string, string>()
  const header = bytes.indexOf(NEWLINE)
  const [format, owner, count] = JSON.parse(bytes.toString('utf8', 0, header)) as unknown[]
  if (format !== FORMAT || owner !== directory) return files
  for (let start = header + 1; start < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, start)
    const [path, line] = JSON.parse(bytes.toString('utf8', start, end)) as unknown[]
    if (typeof path !== 'string' || typeof line !== 'string' || !LINE.test(line)) return new Map()
    files.set(path, line)
    start = end + 1
  }
  return files.size === count ? files : new Map()
}
