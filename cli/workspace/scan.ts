import { isUtf8 } from 'node:buffer'
import type { BigIntStats, Dirent } from 'node:fs'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import pMap from 'p-map'
import { errnoOf } from '../errors.ts'
import { builtInRules, type IgnoreRules, RULE_FILES, type SkipReason } from './ignore-rules.ts'
import { byPath, join, pathProblem } from './paths.ts'

/** What tells whether a file is still the one that was read. */
export interface FileStamp {
  size: number
  mtimeNs: bigint
  ctimeNs: bigint
  ino: bigint
  /** Permission bits. Set-user-id, set-group-id and sticky bits are not kept. */
  mode: number
}

export interface ScannedFile {
  kind: 'file'
  path: string
  stamp: FileStamp
  /** Hex; null until the file was hashed, and when it cannot be kept or is gone since. */
  sha256: string | null
}

export type ScannedEntry =
  | ScannedFile
  | { kind: 'dir'; path: string; empty: boolean }
  | { kind: 'symlink'; path: string; target: string }

/** Something in the workspace that a checkpoint cannot hold. */
export interface Unsupported {
  path: string
  problem: string
}

export interface Scan {
  /** By path, in code unit order; each folder before what it holds. */
  entries: ScannedEntry[]
  /** What the rules leave out. A folder stands for all that it holds. */
  skipped: Array<{ path: string; reason: SkipReason }>
  unsupported: Unsupported[]
}

const STAT_CONCURRENCY = 32

/**
 * Lists what a folder holds, without following symlinks and without opening any file but the rule files.
 * @throws the file system's error when the folder itself or a rule file cannot be read.
 */
export async function scanWorkspace(root: string, signal?: AbortSignal): Promise<Scan> {
  const scan: Scan = { entries: [], skipped: [], unsupported: [] }
  await scanFolder(root, '', builtInRules(), scan, signal)
  scan.entries.sort(byPath)
  return scan
}

/** Returns how many entries of the folder are kept. */
async function scanFolder(
  root: string,
  folder: string,
  above: IgnoreRules,
  scan: Scan,
  signal: AbortSignal | undefined,
): Promise<number> {
  signal?.throwIfAborted()
  const children = await readdir(join(root, folder), { withFileTypes: true, encoding: 'buffer' })
  const rules = await rulesOf(root, folder, children, above)
  let kept = 0
  const folders: string[] = []
  const others: string[] = []
  for (const child of children) {
    if (!isUtf8(child.name)) {
      scan.unsupported.push({
        path: join(folder, child.name.toString('latin1')),
        problem: 'its name is not valid UTF-8',
      })
      continue
    }
    const name = child.name.toString()
    const path = join(folder, name)
    const reason = rules.skips(folder, name, child.isDirectory())
    const problem = pathProblem(path)
    if (reason !== null) scan.skipped.push({ path, reason })
    else if (problem !== null) scan.unsupported.push({ path, problem })
    else if (child.isDirectory()) folders.push(path)
    else others.push(path)
  }
  const scanned = await pMap(others, (path) => scanOther(root, path), { concurrency: STAT_CONCURRENCY })
  for (const entry of scanned) {
    if (entry === null) continue
    if ('problem' in entry) {
      scan.unsupported.push(entry)
    } else {
      scan.entries.push(entry)
      kept += 1
    }
  }
  for (const path of folders) {
    try {
      const inside = await scanFolder(root, path, rules, scan, signal)
      scan.entries.push({ kind: 'dir', path, empty: inside === 0 })
      kept += 1
    } catch (error) {
      const problem = readProblem(error)
      if (problem === undefined) throw error
      if (problem !== null) scan.unsupported.push({ path, problem })
    }
  }
  return kept
}

async function rulesOf(
  root: string,
  folder: string,
  children: ReadonlyArray<Dirent<Buffer>>,
  above: IgnoreRules,
): Promise<IgnoreRules> {
  let rules = above
  for (const name of RULE_FILES) {
    // As git does, a symlink is not read: it could point out of the workspace.
    if (!children.some((child) => child.isFile() && child.name.toString() === name)) continue
    const text = await readFile(join(root, join(folder, name)), 'utf8').catch(goneAsNull)
    if (text !== null) rules = rules.extend(folder, text)
  }
  return rules
}

/** A rule file that is gone since says nothing; taken for its folder's, the error would leave out all that is in it. */
function goneAsNull(error: unknown): null {
  if (errnoOf(error) !== 'ENOENT') throw error
  return null
}

async function scanOther(root: string, path: string): Promise<ScannedEntry | Unsupported | null> {
  try {
    const stats = await lstat(join(root, path), { bigint: true })
    if (stats.isFile()) return { kind: 'file', path, stamp: stampOf(stats), sha256: null }
    if (stats.isSymbolicLink()) {
      const target = await readlink(join(root, path), { encoding: 'buffer' })
      if (!isUtf8(target)) return { path, problem: 'its link target is not valid UTF-8' }
      return { kind: 'symlink', path, target: target.toString() }
    }
    return { path, problem: kindProblem(stats) }
  } catch (error) {
    const problem = readProblem(error)
    if (problem === undefined) throw error
    return problem === null ? null : { path, problem }
  }
}

function kindProblem(stats: BigIntStats): string {
  if (stats.isFIFO()) return 'it is a FIFO'
  if (stats.isSocket()) return 'it is a socket'
  if (stats.isBlockDevice() || stats.isCharacterDevice()) return 'it is a device'
  return 'it is neither a file, a folder nor a symlink'
}

/**
 * What an error of the file system says about one entry: why it cannot be kept, null when it is gone, undefined when
 * the error is about more than this entry.
 */
export function readProblem(error: unknown): string | null | undefined {
  switch (errnoOf(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return null
    case 'EACCES':
    case 'EPERM':
      return 'it cannot be read (permission denied)'
    case 'ENAMETOOLONG':
      return 'its path is too long for the file system'
    case 'EIO':
      return 'it cannot be read (input/output error)'
    default:
      return undefined
  }
}

export function stampOf(stats: BigIntStats): FileStamp {
  const { mtimeNs, ctimeNs } = stats
  return {
    size: Number(stats.size),
    mtimeNs,
    // Mostly the two are the same, and need be in memory only once.
    ctimeNs: ctimeNs === mtimeNs ? mtimeNs : ctimeNs,
    ino: stats.ino,
    mode: Number(stats.mode) & 0o777,
  }
}

/** Whether a file with these stamps was not written in between. */
export function sameContent(left: FileStamp, right: FileStamp): boolean {
  return (
    left.size === right.size &&
    left.mtimeNs === right.mtimeNs &&
    left.ctimeNs === right.ctimeNs &&
    left.ino === right.ino
  )
}
