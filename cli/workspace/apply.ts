import { constants } from 'node:fs'
import { lstat, mkdir, open, rename, symlink } from 'node:fs/promises'
import pMap from 'p-map'
import { errnoOf } from '../errors.ts'
import { join } from './paths.ts'
import type { RestorePlan } from './plan.ts'

const APPLY_CONCURRENCY = 8

/**
 * Puts what lies ready into its places. Every step is one rename or less, so a kill leaves each path as it was or as it
 * shall be, and a further run does the rest. Nothing is written through a symlink: each needed folder is made sure to be
 * a real one first, and files and links arrive by rename, which replaces a link and does not follow it.
 */
export async function applyPlan(
  root: string,
  plan: RestorePlan,
  staged: ReadonlyMap<string, string>,
  stagingFolder: string,
  signal: AbortSignal,
): Promise<void> {
  for (const [index, path] of plan.inTheWay.entries()) {
    signal.throwIfAborted()
    await rename(join(root, path), join(stagingFolder, `replaced.${index}`))
  }
  for (const folder of plan.folders) {
    signal.throwIfAborted()
    await ensureFolder(join(root, folder))
  }
  const options = { concurrency: APPLY_CONCURRENCY, signal }
  await pMap(staged, ([path, file]) => rename(file, join(root, path)), options)
  await pMap(
    plan.links,
    async ({ path, target }, index) => {
      const link = join(stagingFolder, `link.${index}`)
      await symlink(target, link)
      await rename(link, join(root, path))
    },
    options,
  )
  await pMap(plan.modes, ({ path, mode }) => setMode(join(root, path), (mode ?? 0) & 0o777), options)
}

async function ensureFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    // Anything but a folder came there after the comparison, and is not for this pull to remove.
    if (errnoOf(error) !== 'EEXIST' || !(await lstat(path)).isDirectory()) throw error
  }
}

async function setMode(path: string, mode: number): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    await handle.chmod(mode)
  } finally {
    await handle.close()
  }
}
