import { rmdir, unlink } from 'node:fs/promises'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { errnoOf, RefusedError } from '../errors.ts'
import { printable } from '../format.ts'
import { foldersAbove, join } from './paths.ts'
import { type Scan, scanWorkspace } from './scan.ts'

/**
 * Refuses to clear a folder out of the way of a file or a link when that would lose something: without `--delete`
 * anything but empty folders, with it what a push would have left out.
 * @throws RefusedError that names what stands in the way.
 */
export function checkClearing(inTheWay: readonly string[], scan: Scan, deletes: boolean): void {
  const problems: string[] = []
  for (const folder of inTheWay) {
    const isInside = ({ path }: { path: string }) => path === folder || path.startsWith(`${folder}/`)
    const leftOut = scan.skipped.find(isInside) ?? scan.unsupported.find(isInside)
    const kept = scan.entries.find((entry) => entry.kind !== 'dir' && isInside(entry))
    if (leftOut !== undefined) {
      problems.push(
        `${printable(folder)} holds ${printable(leftOut.path)}, which a push leaves out: move it away first`,
      )
    } else if (kept !== undefined && !deletes) {
      problems.push(`${printable(folder)} holds ${printable(kept.path)}: use --delete to remove the folder`)
    }
  }
  if (problems.length === 0) return
  throw new RefusedError('Folders stand where the checkpoint has a file or a symlink; nothing was written.', problems)
}

/**
 * Removes what the checkpoint does not have, and returns the paths. Only what the rules let a push keep, both by the
 * rule files from before the restore (`before`) and by those that it brought.
 */
export async function removeExtra(
  root: string,
  entries: ReadonlyArray<SandboxSnapshotEntry>,
  before: Scan,
  signal: AbortSignal,
): Promise<string[]> {
  const wanted = foldersAbove(entries.map(({ path }) => path))
  for (const { path } of entries) wanted.add(path)
  const candidates = new Set(before.entries.map(({ path }) => path))
  const now = await scanWorkspace(root, signal)
  const removed: string[] = []
  // Backwards: what a folder holds comes before the folder.
  for (const { path, kind } of now.entries.reverse()) {
    if (wanted.has(path) || !candidates.has(path)) continue
    signal.throwIfAborted()
    const gone = kind === 'dir' ? await removeIfEmpty(join(root, path)) : await removeFile(join(root, path))
    if (gone) removed.push(path)
  }
  return removed.reverse()
}

async function removeFile(path: string): Promise<boolean> {
  try {
    await unlink(path)
    return true
  } catch (error) {
    // Someone else was faster.
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
}

async function removeIfEmpty(path: string): Promise<boolean> {
  try {
    await rmdir(path)
    return true
  } catch (error) {
    // It still holds what a push leaves out.
    if (errnoOf(error) === 'ENOTEMPTY' || errnoOf(error) === 'EEXIST') return false
    throw error
  }
}
