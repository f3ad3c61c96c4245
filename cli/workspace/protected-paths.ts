import { createHash, randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { errnoOf, RefusedError } from '../errors.ts'
import { printablePath } from '../format.ts'
import { makeFolder } from './make-folder.ts'
import { join, parentOf } from './paths.ts'

/**
 * What the rule files of one folder left out when a pull replaced or removed them. The new rules may say nothing of it,
 * and yet no checkpoint has it, so no later `--delete` may take it for superfluous. Kept between runs, until a push
 * keeps the folder or a pulled checkpoint has the path itself.
 */
export interface ProtectedPaths {
  /** Whether this path or a folder above it is protected. */
  covers(path: string): boolean
  /** A protected path that is this one, is in it or is above it. */
  touching(path: string): string | undefined
  /** Remembers paths; a folder stands for all that it holds. @throws RefusedError when they cannot be stored. */
  add(paths: readonly string[]): Promise<void>
  /** Keeps only the paths for which this is true. @throws as `add` */
  retain(isKept: (path: string) => boolean): Promise<void>
}

const FORMAT = 'sandkeep-protected-1'

/** @throws RefusedError when there is a record of the folder (absolute path) that cannot be read. */
export async function openProtectedPaths(stateFolder: string, directory: string): Promise<ProtectedPaths> {
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 32)
  const file = join(stateFolder, `${name}.protected`)
  const known = await load(file)
  const covers = (path: string) => {
    for (let at = path; at !== ''; at = parentOf(at)) if (known.has(at)) return true
    return false
  }
  return {
    covers,
    touching(path) {
      if (covers(path)) return path
      return [...known].find((other) => other.startsWith(`${path}/`))
    },
    async add(paths) {
      const before = known.size
      for (const path of paths) known.add(path)
      if (known.size > before) await save(stateFolder, file, directory, known)
    },
    async retain(isKept) {
      const before = known.size
      for (const path of [...known]) if (!isKept(path)) known.delete(path)
      if (known.size < before) await save(stateFolder, file, directory, known)
    },
  }
}

async function load(file: string): Promise<Set<string>> {
  try {
    const record: unknown = JSON.parse(await readFile(file, 'utf8'))
    const isRecord = typeof record === 'object' && record !== null && 'format' in record && 'paths' in record
    if (!isRecord || record.format !== FORMAT || !Array.isArray(record.paths)) throw new Error('another format')
    return new Set(record.paths.filter((path) => typeof path === 'string'))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return new Set()
    throw new RefusedError(
      `Cannot read ${printablePath(file)} (${errnoOf(error) ?? 'damaged'}), which says what --delete must not remove. Remove it if nothing in the folder needs that.`,
    )
  }
}

async function save(folder: string, file: string, directory: string, paths: ReadonlySet<string>): Promise<void> {
  const temporary = `${file}.${randomUUID()}`
  try {
    if (paths.size === 0) {
      await rm(file, { force: true })
      return
    }
    await makeFolder(folder, 0o700)
    const text = JSON.stringify({ format: FORMAT, directory, paths: [...paths] })
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx', flush: true })
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined)
    throw new RefusedError(
      `Cannot write ${printablePath(file)} (${errnoOf(error)}), which says what --delete must not remove. Set XDG_STATE_HOME to a folder that can be written, then run the command again.`,
    )
  }
}
