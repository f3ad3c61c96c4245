import { randomBytes } from 'node:crypto'
import { lstat, mkdir, readdir, rm, rmdir, statfs, writeFile } from 'node:fs/promises'
import { errnoOf, RefusedError } from '../errors.ts'
import { formatBytes, printable, printablePath } from '../format.ts'
import { holdFolder } from './in-folder.ts'
import { makeFolder } from './make-folder.ts'
import { join, STAGING_PATTERN } from './paths.ts'

/** A folder inside the target, and so on its file system, where files are made ready before they take their places. */
export interface Staging {
  folder: string
  /** Removes the folder; unless `keepsTarget`, the target too when this pull made it and nothing is in it. */
  remove(keepsTarget: boolean): Promise<void>
}

/**
 * Makes the target if it is missing, and the staging folder in it; removes what killed pulls left.
 * @throws RefusedError when another pull is at work in the target; the file system's error when it cannot be written.
 */
export async function createStaging(root: string): Promise<Staging> {
  const madeTarget = await makeFolder(root)
  await removeLeftovers(root)
  const name = `.sandkeep-pull-${process.pid}-${randomBytes(4).toString('hex')}`
  const folder = join(root, name)
  await mkdir(folder, { mode: 0o700 })
  const held = holdFolder(root, name)
  return {
    folder: held.path,
    async remove(keepsTarget) {
      held.close()
      // Transfers that were just aborted may still be letting go of their files.
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
      if (keepsTarget || !madeTarget) return
      await rmdir(root).catch((error: unknown) => {
        if (errnoOf(error) !== 'ENOTEMPTY' && errnoOf(error) !== 'EEXIST') throw error
      })
    },
  }
}

async function removeLeftovers(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    const owner = STAGING_PATTERN.exec(name)?.[1]
    if (owner === undefined) continue
    if (isRunning(Number(owner))) {
      throw new RefusedError(
        `Another pull (process ${owner}) is writing into this folder. Wait for it to end; if there is none, remove ${printable(name)}.`,
      )
    }
    await rm(join(root, name), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  // In a container that was started anew, a killed pull may have had this very number.
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errnoOf(error) === 'EPERM'
  }
}

/** @throws RefusedError when the file system of the target has less than `bytes` free. */
export async function checkSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (free >= bytes) return
  throw new RefusedError(
    `The restore needs ${formatBytes(bytes)}, and the target has ${formatBytes(free)} free; nothing was written. Free some space and try again.`,
  )
}

/**
 * Refuses paths that differ only by letter case or by Unicode composition where the file system does not tell them
 * apart: one would silently overwrite the other.
 */
export async function checkNamesDiffer(folder: string, paths: readonly string[]): Promise<void> {
  await writeFile(join(folder, 'case-probe'), '')
  const folds = await lstat(join(folder, 'CASE-PROBE')).then(
    () => true,
    () => false,
  )
  await rm(join(folder, 'case-probe'))
  const clash = folds ? foldedClash(paths) : null
  if (clash === null) return
  throw new RefusedError(
    'The file system of the target cannot hold both of these; nothing was written.',
    clash.map(printablePath),
  )
}

/** Two paths that become one when case and composition are not looked at. */
export function foldedClash(paths: readonly string[]): [string, string] | null {
  const seen = new Map<string, string>()
  for (const path of paths) {
    const folded = path.normalize('NFC').toLowerCase()
    const other = seen.get(folded)
    if (other !== undefined) return [other, path]
    seen.set(folded, path)
  }
  return null
}
