import { rmdir, unlink } from 'node:fs/promises'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { errnoOf, RefusedError } from '../errors.ts'
import { printablePath } from '../format.ts'
import { RULE_FILES } from './ignore-rules.ts'
import { inFolder } from './in-folder.ts'
import { foldersAbove, join, nameOf, parentOf } from './paths.ts'
import type { RestorePlan } from './plan.ts'
import type { ProtectedPaths } from './protected-paths.ts'
import { type Scan, scanWorkspace } from './scan.ts'

/**
 * Refuses to clear something out of the way of another kind when that would lose something: without `--delete` anything
 * but empty folders, with it what a push would have left out.
 * @throws RefusedError that names what stands in the way.
 */
export function checkClearing(
  inTheWay: readonly string[],
  scan: Scan,
  protectedPaths: ProtectedPaths,
  deletes: boolean,
): void {
  const leftOut = [...scan.skipped, ...scan.unsupported].map(({ path }) => path)
  const leftOutSet = new Set(leftOut)
  const problems: string[] = []
  for (const path of inTheWay) {
    const isInside = (other: string) => other === path || other.startsWith(`${path}/`)
    const above = [...foldersAbove([path])].some((folder) => leftOutSet.has(folder)) ? path : undefined
    const lost = above ?? leftOut.find(isInside) ?? protectedPaths.touching(path)
    const kept = scan.entries.find((entry) => entry.kind !== 'dir' && isInside(entry.path))?.path
    if (lost !== undefined) problems.push(`${standing(path, lost)}, which a push leaves out: move it away first`)
    else if (kept !== undefined && !deletes) problems.push(`${standing(path, kept)}: use --delete to remove it`)
  }
  if (problems.length === 0) return
  throw new RefusedError(
    'The target has something else where the checkpoint has a file, a symlink or a folder; nothing was written.',
    problems,
  )
}

function standing(path: string, lost: string): string {
  return path === lost ? `${printablePath(path)} is there` : `${printablePath(path)} holds ${printablePath(lost)}`
}

/**
 * Whether the restore replaces or removes a rule file of the target, so that other rules hold afterwards.
 */
export function changesRules(
  { files, links, inTheWay }: RestorePlan,
  entries: ReadonlyArray<SandboxSnapshotEntry>,
  before: Scan | null,
): boolean {
  if ([...files, ...links].some(({ path }) => isRuleFile(path)) || inTheWay.some(isRuleFile)) return true
  const rules = before?.entries.filter(({ path }) => isRuleFile(path)) ?? []
  if (rules.length === 0) return false
  const wanted = new Set(entries.map(({ path }) => path))
  return rules.some(({ path }) => !wanted.has(path))
}

function isRuleFile(path: string): boolean {
  return RULE_FILES.some((name) => path === name || path.endsWith(`/${name}`))
}

/**
 * Removes what the checkpoint does not have, and returns the paths. Only what the rules let a push keep, both by the
 * rule files from before the restore (`before`) and by those that it brought, and what no earlier rules protected.
 */
export async function removeExtra(
  root: string,
  entries: ReadonlyArray<SandboxSnapshotEntry>,
  before: Scan,
  protectedPaths: ProtectedPaths,
  signal: AbortSignal,
): Promise<string[]> {
  const wanted = foldersAbove(entries.map(({ path }) => path))
  for (const { path } of entries) wanted.add(path)
  const candidates = new Set(before.entries.map(({ path }) => path))
  const now = await scanWorkspace(root, signal)
  const removed: string[] = []
  // Backwards: what a folder holds comes before the folder.
  for (const { path, kind } of now.entries.reverse()) {
    if (wanted.has(path) || !candidates.has(path) || protectedPaths.covers(path)) continue
    signal.throwIfAborted()
    const remove = kind === 'dir' ? removeIfEmpty : removeFile
    const gone = await inFolder(root, parentOf(path), (folder) => remove(join(folder, nameOf(path))))
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
