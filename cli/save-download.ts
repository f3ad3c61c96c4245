import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { link, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileName } from '../src/files/rules.ts'
import { errnoOf, RefusedError } from './errors.ts'
import { printablePath } from './format.ts'

export interface SaveOptions {
  /** Of the file, from the API. */
  name: string
  /** A file, or a folder to put it into; undefined for `stdout`. */
  path: string | undefined
  /** Whether to replace a file that is there. */
  force: boolean
  stdout: Writable
}

/**
 * Writes a download where it was asked for, whole or not at all. Returns the path of the file, or undefined for stdout.
 * @throws RefusedError when something is there already
 */
export async function saveDownload(response: Response, options: SaveOptions): Promise<string | undefined> {
  const body = response.body ? Readable.fromWeb(response.body) : Readable.from([])
  const { path, stdout } = options
  if (path === undefined) {
    await pipeline(body, stdout, { end: false })
    return undefined
  }
  const target = (await isFolder(path)) ? join(path, fileName(options.name)) : path
  const partial = join(dirname(target), `.sandkeep-${randomUUID()}`)
  try {
    await pipeline(body, createWriteStream(partial, { flags: 'wx' }))
    // A link does not replace what is there, as a rename does.
    await (options.force ? rename(partial, target) : link(partial, target))
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    throw new RefusedError(
      `${printablePath(target)} is there already. Add --force to replace it, or name another path.`,
    )
  } finally {
    await rm(partial, { force: true })
  }
  return target
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
}
