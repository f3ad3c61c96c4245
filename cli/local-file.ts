import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { errnoOf, UsageError } from './errors.ts'
import { printablePath } from './format.ts'

/** The path of a file that was named on the command line. @throws UsageError when there is none */
export async function localFile(cwd: string, name: string): Promise<string> {
  const path = resolve(cwd, name)
  try {
    if ((await stat(path)).isFile()) return path
  } catch (error) {
    if (!isNoFile(error)) throw error
  }
  throw notAFile(name)
}

/** Whether a file could not be read because there is none. */
export function isNoFile(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EISDIR'].includes(errnoOf(error) ?? '')
}

export function notAFile(name: string): UsageError {
  return new UsageError(`${printablePath(name)} is not a file.`)
}
