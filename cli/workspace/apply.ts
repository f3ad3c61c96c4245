import { constants, renameSync } from 'node:fs'
import { lstat, mkdir, open, rename, symlink } from 'node:fs/promises'
import pMap from 'p-map'
import type { SandboxSnapshotFileEntry, SandboxSnapshotSymlinkEntry } from '../../src/checkpoints/types.ts'
import { errnoOf } from '../errors.ts'
import { inFolder } from './in-folder.ts'
import { Pace } from './pace.ts'
import { join, nameOf, parentOf } from './paths.ts'
import type { RestorePlan } from './plan.ts'

/** How many folders are worked in at once. */
const APPLY_CONCURRENCY = 8

/**
 * Puts what lies ready into its places. Every step is one rename or less, so a kill leaves each path as it was or as it
 * shall be, and a further run does the rest. Nothing is written through a symlink: each step works in the real folder
 * (`inFolder`), and files and links arrive by rename, which replaces a link and does not follow it.
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
    await inFolder(root, parentOf(path), (folder) =>
      rename(join(folder, nameOf(path)), join(stagingFolder, `replaced.${index}`)),
    )
  }
  for (const path of plan.folders) {
    signal.throwIfAborted()
    await inFolder(root, parentOf(path), (folder) => ensureFolder(join(folder, nameOf(path))))
  }
  await pMap(
    stepsByFolder(plan, staged, stagingFolder),
    ([folder, steps]) =>
      inFolder(root, folder, async (path) => {
        for (const step of steps) {
          signal.throwIfAborted()
          const waiting = step(path)
          if (waiting !== undefined) await waiting
        }
      }),
    { concurrency: APPLY_CONCURRENCY, signal },
  )
}

/** One change in a folder, whose path it is given. What is done at once returns nothing. */
type Step = (folder: string) => Promise<void> | undefined

function stepsByFolder(
  plan: RestorePlan,
  staged: ReadonlyMap<string, string>,
  stagingFolder: string,
): Map<string, Step[]> {
  const folders = new Map<string, Step[]>()
  const add = (path: string, step: Step) => {
    const steps = folders.get(parentOf(path))
    if (steps === undefined) folders.set(parentOf(path), [step])
    else steps.push(step)
  }
  const pace = new Pace()
  for (const [path, file] of staged) add(path, (folder) => placeFile(file, join(folder, nameOf(path)), pace))
  for (const [index, entry] of plan.links.entries()) {
    add(entry.path, (folder) => placeLink(entry, join(stagingFolder, `link.${index}`), folder))
  }
  for (const entry of plan.modes) add(entry.path, (folder) => setMode(entry, folder))
  return folders
}

async function ensureFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    // Anything but a folder came there after the comparison, and is not for this pull to remove.
    if (errnoOf(error) !== 'EEXIST' || !(await lstat(path)).isDirectory()) throw error
  }
}

/** At once, as long as the file system is quick about it: a task of the thread pool takes several times as long. */
function placeFile(ready: string, path: string, pace: Pace): Promise<void> | undefined {
  if (pace.isSlow) return rename(ready, path)
  const start = performance.now()
  renameSync(ready, path)
  pace.note(performance.now() - start)
  return undefined
}

async function placeLink({ path, target }: SandboxSnapshotSymlinkEntry, ready: string, folder: string): Promise<void> {
  await symlink(target, ready)
  await rename(ready, join(folder, nameOf(path)))
}

async function setMode({ path, mode }: SandboxSnapshotFileEntry, folder: string): Promise<void> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const handle = await open(join(folder, nameOf(path)), flags)
  try {
    await handle.chmod((mode ?? 0) & 0o777)
  } finally {
    await handle.close()
  }
}
