import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { RefusedError } from '../errors.ts'
import { printable, printablePath } from '../format.ts'
import { isFixedOut } from './fixed-rules.ts'
import { foldersAbove, join, pathProblem } from './paths.ts'

const BLOB_KEY = /^sandbox-files\/sha256\/[0-9a-f]{64}$/
/** Bytes, without the NUL at the end. The longest that Linux keeps in a link. */
const MAX_TARGET_BYTES = 4_095
/** Bytes, without the NUL at the end. The longest path that a system call takes. */
const MAX_FULL_PATH_BYTES = process.platform === 'darwin' ? 1_023 : 4_095

/**
 * Refuses a checkpoint that cannot be restored safely: a path that leaves the target, one that leads through a file or
 * a symlink, a duplicate, a path that is too long below `root`, one that a push always leaves out, an entry whose fields
 * are not what its kind needs. The store checks some of this when the checkpoint is appended; a restore does not take
 * its word for it.
 * @throws RefusedError that names every bad entry.
 */
export function checkManifest(root: string, entries: ReadonlyArray<SandboxSnapshotEntry>): void {
  const kinds = new Map<string, SandboxSnapshotEntry['kind']>()
  const sizes = new Map<string, number>()
  const problems: string[] = []
  const refuse = (path: string, problem: string) => problems.push(`${printablePath(path)}: ${problem}`)
  for (const entry of entries) {
    const problem =
      pathProblem(entry.path) ?? nameProblem(entry.path) ?? lengthProblem(root, entry.path) ?? fieldProblem(entry)
    if (problem !== null) refuse(entry.path, problem)
    else if (kinds.has(entry.path)) refuse(entry.path, 'the path stands twice in the checkpoint')
    kinds.set(entry.path, entry.kind)
    if (entry.kind !== 'file') continue
    if ((sizes.get(entry.blobKey) ?? entry.size) !== entry.size) refuse(entry.path, 'its content has two sizes')
    sizes.set(entry.blobKey, entry.size)
  }
  if (problems.length === 0) {
    for (const folder of foldersAbove(kinds.keys())) {
      const kind = kinds.get(folder) ?? 'dir'
      if (kind !== 'dir') refuse(folder, `other paths of the checkpoint lead through this ${kind}`)
    }
  }
  if (problems.length > 0)
    throw new RefusedError('The checkpoint cannot be restored safely; nothing was written.', problems)
}

/** A hook in `.git` or a script in `node_modules` would run by itself: no checkpoint may bring one. */
function nameProblem(path: string): string | null {
  const name = path.split('/').find(isFixedOut)
  return name === undefined ? null : `the path holds ${printable(name)}, which a push always leaves out`
}

function lengthProblem(root: string, path: string): string | null {
  return Buffer.byteLength(join(root, path)) > MAX_FULL_PATH_BYTES ? 'the path is too long below this folder' : null
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
      if (Buffer.byteLength(entry.target) > MAX_TARGET_BYTES) return 'the link target is too long'
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
