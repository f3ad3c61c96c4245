import { closeSync, constants, existsSync, lstatSync, openSync } from 'node:fs'
import { errnoOf, RefusedError } from '../errors.ts'
import { printablePath } from '../format.ts'
import { join } from './paths.ts'

/** Linux: a handle that only names a folder, for which no right to read it is needed. Node has no constant for it. */
const O_PATH = 0o10000000
const FOLDER_FLAGS = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** Whether an open folder has a path of its own, which leads to it whatever becomes of the path it was opened by. */
const HAS_HANDLE_PATHS = process.platform === 'linux' && existsSync('/proc/self/fd')

/** The path of an open folder itself. */
function handlePath(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`
}

/**
 * Runs `work` in a folder of the target (`''` for the target itself), with a path that leads to it and through no
 * symlink, also when another process exchanges a folder for a link meanwhile. Where the system has no such path (not
 * Linux) the way to the folder is checked before and after.
 * @throws RefusedError when the folder or one above it is no real folder; what `work` throws.
 */
export async function inFolder<T>(root: string, folder: string, work: (path: string) => Promise<T>): Promise<T> {
  if (!HAS_HANDLE_PATHS) return betweenChecks(root, folder, work)
  const descriptor = openFolder(root, folder)
  try {
    return await work(handlePath(descriptor))
  } catch (error) {
    throw withRealPath(error, handlePath(descriptor), join(root, folder))
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Keeps a folder that was just made in reach, like `inFolder`, until `close`.
 * @throws RefusedError when something else stands there by now.
 */
export function holdFolder(root: string, folder: string): { path: string; close(): void } {
  if (!HAS_HANDLE_PATHS) return { path: join(root, folder), close: () => undefined }
  const descriptor = openFolder(root, folder)
  return { path: handlePath(descriptor), close: () => closeSync(descriptor) }
}

/** Synchronous: a handful of quick system calls, which would take longer as tasks of the thread pool. */
function openFolder(root: string, folder: string): number {
  let at = openSync(root, FOLDER_FLAGS)
  for (const name of folder === '' ? [] : folder.split('/')) {
    const above = at
    try {
      at = openSync(`${handlePath(above)}/${name}`, FOLDER_FLAGS)
    } catch (error) {
      const code = errnoOf(error)
      throw code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENOENT' ? exchanged(folder) : error
    } finally {
      closeSync(above)
    }
  }
  return at
}

async function betweenChecks<T>(root: string, folder: string, work: (path: string) => Promise<T>): Promise<T> {
  const before = identities(root, folder)
  const result = await work(join(root, folder))
  if (identities(root, folder) !== before) throw exchanged(folder)
  return result
}

/** What tells the folders on the way apart from others, as one text. */
function identities(root: string, folder: string): string {
  let path = root
  const seen: string[] = []
  for (const name of folder === '' ? [] : folder.split('/')) {
    path = join(path, name)
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
    if (!stats?.isDirectory()) throw exchanged(folder)
    seen.push(`${stats.dev}:${stats.ino}`)
  }
  return seen.join(' ')
}

function exchanged(folder: string): RefusedError {
  return new RefusedError(
    `The folder ${printablePath(folder)} was exchanged for something else while it was worked in. Stop what changes it, then run the command again.`,
  )
}

/** An error of the file system with the path that the caller knows. */
function withRealPath(error: unknown, handle: string, path: string): unknown {
  if (!(error instanceof Error)) return error
  for (const field of ['path', 'dest'] as const) {
    const named: unknown = Reflect.get(error, field)
    if (typeof named === 'string' && named.startsWith(`${handle}/`)) {
      Object.assign(error, { [field]: join(path, named.slice(handle.length + 1)) })
    }
  }
  return error
}
