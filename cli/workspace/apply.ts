import { constants } from 'node:fs'
import { lstat, mkdir, open, rename, symlink, unlink } from 'node:fs/promises'
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
  for (const folder of plan.folders) {
    signal.throwIfAborted()
    await ensureFolder(join(root, folder))
  }
  for (const [index, folder] of plan.inTheWay.entries()) {
    await rename(join(root, folder), join(stagingFolder, `replaced.${index}`))
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
    const stats = await lstat(path)
    if (stats.isDirectory()) return
    await unlink(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
  await mkdir(path)
}

async function setMode(path: string, mode: number): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    await handle.chmod(mode)
  } finally {
    await handle.close()
  }
}
