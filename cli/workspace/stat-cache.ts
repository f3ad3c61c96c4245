import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from './make-folder.ts'
import type { FileStamp } from './scan.ts'

/** A file and what is known of it; without a hash there is nothing to remember. */
export interface KeptFile {
  path: string
  stamp: FileStamp
  sha256: string | null
}

/**
 * Remembers the hashes of one folder's files between runs, so that a file whose size, times and inode are unchanged
 * need not be read again. Losing it costs time only. It is in memory line by line only, and so is read and written in
 * the order of the paths (code units).
 */
export interface StatCache {
  /** Each of the files, which come by path, with what tells the hash of it for its stamp: null when it is not known. */
  along<File extends { path: string }>(
    files: Iterable<File>,
  ): AsyncIterable<[File, (stamp: FileStamp) => string | null]>
  /**
   * Replaces the cache by these files, which come by path, in one step. A file that was written as late as `startedAtMs`
   * (when the scan began) or within one step of the file system's clock before is left out: a later write could leave
   * the same times.
   */
  save(files: Iterable<KeptFile>, startedAtMs: number): Promise<void>
}

const FORMAT = 'sandkeep-stat-cache-2'
const FINE_STEP_NS = 20_000_000n
/** FAT keeps times in steps of two seconds, others of one. */
const COARSE_STEP_NS = 2_000_000_000n
const NS_PER_MS = 1_000_000n
const NS_PER_S = 1_000_000_000n
const STAMP = /^\d+ \d+ \d+ \d+$/
const SHA256 = /^[0-9a-f]{64}$/

/** How much is read or written at a time, in code units. */
const TEXT_LENGTH = 65_536

/** The cache of a folder (absolute path). A missing, foreign or damaged cache knows nothing. */
export function statCache(cacheFolder: string, directory: string): StatCache {
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 32)
  const file = join(cacheFolder, `${name}.stat`)
  return {
    async *along(files) {
      const lines = readKnown(file, directory)
      try {
        let next = await lines.next()
        for (const one of files) {
          while (!next.done && next.value.path < one.path) next = await lines.next()
          const known = next.done || next.value.path !== one.path ? null : next.value
          yield [one, (stamp) => (known?.stamp === stampText(stamp) ? known.sha256 : null)]
        }
      } finally {
        await lines.return()
      }
    },
    async save(files, startedAtMs) {
      await makeFolder(cacheFolder, 0o700)
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
  return `${size} ${mtimeNs} ${ctimeNs} ${ino}`
}

/** The first line tells whose cache it is; then one line a file, as JSON. */
async function write(
  temporary: string,
  directory: string,
  files: Iterable<KeptFile>,
  startedAtMs: number,
): Promise<void> {
  const handle = await open(temporary, 'wx', 0o600)
  try {
    let text = `${JSON.stringify([FORMAT, directory])}\n`
    for (const { path, stamp, sha256 } of files) {
      if (sha256 === null || !isSettled(stamp, startedAtMs)) continue
      text += `${JSON.stringify([path, stampText(stamp), sha256])}\n`
      if (text.length < TEXT_LENGTH) continue
      await handle.appendFile(text)
      text = ''
    }
    await handle.appendFile(text)
  } finally {
    await handle.close()
  }
}

function isSettled(stamp: FileStamp, startedAtMs: number): boolean {
  const step = stamp.ctimeNs % NS_PER_S === 0n ? COARSE_STEP_NS : FINE_STEP_NS
  const limit = BigInt(Math.floor(startedAtMs)) * NS_PER_MS - step
  return stamp.ctimeNs < limit && stamp.mtimeNs < limit
}

interface Known {
  path: string
  stamp: string
  sha256: string
}

/** What a cache holds, up to where it ends or is damaged. */
async function* readKnown(file: string, directory: string): AsyncGenerator<Known, void, void> {
  const stream = createReadStream(file, { encoding: 'utf8', highWaterMark: TEXT_LENGTH })
  try {
    let isOurs = false
    let rest = ''
    for await (const text of stream as AsyncIterable<string>) {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const [first, second, third] = JSON.parse(line) as unknown[]
        if (isOurs) {
          if (typeof first !== 'string' || !matches(STAMP, second) || !matches(SHA256, third)) return
          yield { path: first, stamp: second, sha256: third }
        } else {
          if (first !== FORMAT || second !== directory) return
          isOurs = true
        }
      }
    }
  } catch {
    // Whatever is wrong with it, the files themselves still hold everything.
  } finally {
    stream.destroy()
  }
}

function matches(pattern: RegExp, value: unknown): value is string {
  return typeof value === 'string' && pattern.test(value)
}
