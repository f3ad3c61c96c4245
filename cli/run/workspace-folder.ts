import { mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { errnoOf, RefusedError, UsageError } from '../errors.ts'
import { printablePath } from '../format.ts'
import type { Environment } from '../settings.ts'
import { makeFolder } from '../workspace/make-folder.ts'
import { type RunFolder, runFolder } from './record.ts'
import { OWN_FOLDER } from './summary.ts'

export interface Places {
  folder: RunFolder
  /** An absolute path, no link. Empty. */
  workspace: string
  /** Takes away the folder of the run, and the workspace if it is in it. */
  removeOwn(): Promise<void>
  /** Takes away all that the run has put on the disk; a folder that the caller named is empty again. */
  clear(): Promise<void>
}

/**
 * Makes the folder of a run, and in it the workspace, unless the caller names one.
 * @throws RefusedError when that is not empty, UsageError when it is no folder
 */
export async function makePlaces({ TMPDIR }: Environment, cwd: string, dir: string | undefined): Promise<Places> {
  const folder = runFolder(await realpath(await mkdtemp(join(TMPDIR || tmpdir(), 'sandkeep-run-'))))
  const removeOwn = () => rm(folder.path, { recursive: true, force: true })
  if (dir === undefined) {
    const own = join(folder.path, 'workspace')
    await makeFolder(own)
    return { folder, workspace: own, removeOwn, clear: removeOwn }
  }
  // Last: what fails after it would leave something in it.
  const workspace = await emptyFolder(resolve(cwd, dir)).catch(async (error: unknown) => {
    await removeOwn()
    throw error
  })
  return {
    folder,
    workspace,
    removeOwn,
    async clear() {
      await removeOwn()
      for (const name of await readdir(workspace)) await rm(join(workspace, name), { recursive: true, force: true })
    },
  }
}

/**
 * Makes a folder (absolute path) where it is missing, and in it the one that is no part of the workspace; answers with
 * its path without links.
 * @throws RefusedError when it is not empty, UsageError when it is no folder
 */
export async function emptyFolder(path: string): Promise<string> {
  try {
    await makeFolder(path)
    if ((await readdir(path)).length === 0 && (await take(path))) return await realpath(path)
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOTDIR' || code === 'EEXIST') throw new UsageError(`${printablePath(path)} is not a folder.`)
    throw error
  }
  throw new RefusedError(`${printablePath(path)} is not empty. The workspace needs a folder that is new or empty.`)
}

/** Of two that find a folder empty at once one gets it: what the other undoes would be the work of the first. */
async function take(folder: string): Promise<boolean> {
  try {
    await mkdir(join(folder, OWN_FOLDER))
    return true
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    return false
  }
}
