import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { RefusedError } from '../errors.ts'
import { printable } from '../format.ts'
import { isFixedOut } from './fixed-rules.ts'
import { ancestorsOf, parentOf, pathProblem } from './paths.ts'

const BLOB_KEY = /^sandbox-files\/sha256\/[0-9a-f]{64}$/
const MAX_LINK_HOPS = 40

/**
 * Refuses a checkpoint that cannot be restored safely: a path that leaves the target, one that leads through a file or
 * a symlink, a duplicate, an entry whose fields are not what its kind needs. The store checks most of this when the
 * checkpoint is appended; a restore does not take its word for it.
 * @throws RefusedError that names every bad entry.
 */
export function checkManifest(entries: ReadonlyArray<SandboxSnapshotEntry>, options: { externalLinks: boolean }): void {
  const kinds = new Map<string, SandboxSnapshotEntry>()
  const sizes = new Map<string, number>()
  const problems: string[] = []
  const refuse = (path: string, problem: string) => problems.push(`${printable(path)}: ${problem}`)
  for (const entry of entries) {
    const problem = pathProblem(entry.path) ?? nameProblem(entry.path) ?? fieldProblem(entry)
    if (problem !== null) refuse(entry.path, problem)
    else if (kinds.has(entry.path)) refuse(entry.path, 'the path stands twice in the checkpoint')
    kinds.set(entry.path, entry)
    if (entry.kind !== 'file') continue
    if ((sizes.get(entry.blobKey) ?? entry.size) !== entry.size) refuse(entry.path, 'its content has two sizes')
    sizes.set(entry.blobKey, entry.size)
  }
  for (const { path } of entries) {
    const through = ancestorsOf(path).find((ancestor) => (kinds.get(ancestor)?.kind ?? 'dir') !== 'dir')
    if (through !== undefined)
      refuse(path, `the path leads through the ${kinds.get(through)?.kind} ${printable(through)}`)
  }
  if (problems.length > 0)
    throw new RefusedError('The checkpoint cannot be restored safely; nothing was written.', problems)
  if (!options.externalLinks) refuseExternalLinks(entries)
}

/** A hook in `.git` or a script in `node_modules` would run by itself: no checkpoint may bring one. */
function nameProblem(path: string): string | null {
  const name = path.split('/').find(isFixedOut)
  return name === undefined ? null : `the path holds ${printable(name)}, which a push always leaves out`
}

function fieldProblem(entry: SandboxSnapshotEntry): string | null {
  switch (entry.kind) {
    case 'file':
      if (!BLOB_KEY.test(entry.blobKey)) return 'the blob key is malformed'
      if (!Number.isSafeInteger(entry.size) || entry.size < 0) return 'the size is not a whole number'
      if (entry.mode !== undefined && !isMode(entry.mode)) return 'the mode is not a number from 0 to 4095'
      return null
    case 'symlink':
      if (typeof entry.target !== 'string' || entry.target === '') return 'the link has no target'
      if (entry.target.includes('\0') || !entry.target.isWellFormed()) return 'the link target cannot be written'
      return null
    case 'dir':
      return null
    default:
      return 'the kind of the entry is unknown; a newer version of sandkeep may know it'
  }
}

function isMode(mode: number): boolean {
  return Number.isInteger(mode) && mode >= 0 && mode <= 0o7777
}

function refuseExternalLinks(entries: ReadonlyArray<SandboxSnapshotEntry>): void {
  const links = new Map<string, string>()
  for (const entry of entries) if (entry.kind === 'symlink') links.set(entry.path, entry.target)
  const external = [...links]
    .filter(([path, target]) => leaves(parentOf(path), target, links))
    .map(([path, target]) => `${printable(path)} -> ${printable(target)}`)
  if (external.length === 0) return
  throw new RefusedError('Symlinks lead out of the target (--no-external-links); nothing was written.', external)
}

/** Whether a link target, walked from `folder` through the checkpoint's own links, ends or passes outside the top. */
function leaves(folder: string, target: string, links: ReadonlyMap<string, string>): boolean {
  const at = folder === '' ? [] : folder.split('/')
  const ahead = [target]
  for (let hops = 0; ahead.length > 0; ) {
    const text = ahead.pop() ?? ''
    if (text.startsWith('/')) return true
    const slash = text.indexOf('/')
    const part = slash === -1 ? text : text.slice(0, slash)
    if (slash !== -1) ahead.push(text.slice(slash + 1).replace(/^\/+/, ''))
    if (part === '' || part === '.') continue
    if (part === '..') {
      if (at.pop() === undefined) return true
      continue
    }
    at.push(part)
    const next = links.get(at.join('/'))
    if (next === undefined) continue
    at.pop()
    hops += 1
    // A loop of links leads nowhere.
    if (hops > MAX_LINK_HOPS) return false
    ahead.push(next)
  }
  return false
}
