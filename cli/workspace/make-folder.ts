import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errnoOf } from '../errors.ts'

/**
 * Makes a folder and those above it; true when the folder was not there before. Unlike `mkdir` with `recursive`, which
 * tries for ever where a file system answers every new name with ENOENT, as `/proc` does.
 * @throws the file system's error
 */
export async function makeFolder(path: string, mode?: number): Promise<boolean> {
  try {
    await mkdir(path, mode)
    return true
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') {
      if ((await stat(path).catch(() => null))?.isDirectory()) return false
      throw error
    }
    const above = dirname(path)
    // With the folder above in place, what is missing cannot be made.
    if (above === path || !(await makeFolder(above, mode))) throw error
    await mkdir(path, mode)
    return true
  }
}
