import { lstat, readlink } from 'node:fs/promises'
import pMap from 'p-map'
import type {
  SandboxSnapshotEntry,
  SandboxSnapshotFileEntry,
  SandboxSnapshotSymlinkEntry,
} from '../../src/checkpoints/types.ts'
import { errnoOf } from '../errors.ts'
import { type HashedFile, hashFile } from './hash.ts'
import { sha256OfKey } from './manifest.ts'
import { byPath, foldersAbove, join, parentOf } from './paths.ts'
import { type FileStamp, stampOf } from './scan.ts'
import type { KeptFile, StatCache } from './stat-cache.ts'

const COMPARE_CONCURRENCY = 8

/** What stands between the target as it is and the checkpoint. */
export interface RestorePlan {
  /** Every folder that must be there, each after the one above it. */
  folders: string[]
  /** Files whose bytes must be written. */
  files: SandboxSnapshotFileEntry[]
  /** Files that have the right bytes but not the right mode. */
  modes: SandboxSnapshotFileEntry[]
  links: SandboxSnapshotSymlinkEntry[]
  /** What stands in the target where another kind must be: a folder for a file or a link, or these for a folder. */
  inTheWay: string[]
  /** Files of the target that were found to be right, by blob key: content that need not be downloaded. */
  sources: Map<string, string>
  /** What was read of the target, for its stat cache. */
  known: KeptFile[]
}

/**
 * Compares a checkpoint with a target folder, which may be missing, without changing it and without following a symlink
 * in it.
 */
export async function planRestore(
  root: string,
  entries: ReadonlyArray<SandboxSnapshotEntry>,
  cache: StatCache,
  signal: AbortSignal,
): Promise<RestorePlan> {
  const plan: RestorePlan = {
    folders: neededFolders(entries),
    files: [],
    modes: [],
    links: [],
    inTheWay: [],
    sources: new Map(),
    known: [],
  }
  const absent = await absentFolders(root, plan)
  const compared: SandboxSnapshotEntry[] = []
  for (const entry of entries) {
    if (!absent.has(parentOf(entry.path))) compared.push(entry)
    else if (entry.kind === 'file') plan.files.push(entry)
    else if (entry.kind === 'symlink') plan.links.push(entry)
  }
  await pMap(
    cache.along(compared.sort(byPath)),
    async ([entry, recall]) => {
      if (entry.kind === 'file') await compareFile(root, entry, recall, plan, signal)
      else if (entry.kind === 'symlink') await compareLink(root, entry, plan)
    },
    { concurrency: COMPARE_CONCURRENCY, signal },
  )
  return plan
}

function neededFolders(entries: ReadonlyArray<SandboxSnapshotEntry>): string[] {
  const folders = foldersAbove(entries.map(({ path }) => path))
  for (const { kind, path } of entries) if (kind === 'dir') folders.add(path)
  return [...folders].sort()
}

/** The needed folders that are missing, or are something else, in the target; all below them is missing too. */
async function absentFolders(root: string, { folders, inTheWay }: RestorePlan): Promise<Set<string>> {
  const absent = new Set<string>()
  for (const folder of folders) {
    const stats = absent.has(parentOf(folder)) ? null : await statOf(root, folder)
    if (stats?.isDirectory()) continue
    absent.add(folder)
    if (stats !== null) inTheWay.push(folder)
  }
  return absent
}

async function compareFile(
  root: string,
  entry: SandboxSnapshotFileEntry,
  recall: (stamp: FileStamp) => string | null,
  plan: RestorePlan,
  signal: AbortSignal,
): Promise<void> {
  const stats = await statOf(root, entry.path)
  if (stats?.isDirectory()) plan.inTheWay.push(entry.path)
  if (!stats?.isFile() || Number(stats.size) !== entry.size) {
    plan.files.push(entry)
    return
  }
  const stamp = stampOf(stats)
  const known = recall(stamp)
  const file = known === null ? await hashReadable(root, entry.path, signal) : { sha256: known, stamp }
  if (file !== null) plan.known.push({ path: entry.path, ...file })
  if (file?.sha256 !== sha256OfKey(entry.blobKey)) {
    plan.files.push(entry)
    return
  }
  plan.sources.set(entry.blobKey, entry.path)
  if (entry.mode !== undefined && file.stamp.mode !== (entry.mode & 0o777)) plan.modes.push(entry)
}

/** Null when the file cannot be read, is gone or is being written: then it is replaced. */
async function hashReadable(root: string, path: string, signal: AbortSignal): Promise<HashedFile | null> {
  try {
    return await hashFile(join(root, path), path, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (errnoOf(error) === 'EIO') throw error
    return null
  }
}

async function compareLink(root: string, entry: SandboxSnapshotSymlinkEntry, plan: RestorePlan): Promise<void> {
  const stats = await statOf(root, entry.path)
  if (stats?.isSymbolicLink() && (await readlink(join(root, entry.path))) === entry.target) return
  if (stats?.isDirectory()) plan.inTheWay.push(entry.path)
  plan.links.push(entry)
}

async function statOf(root: string, path: string) {
  try {
    return await lstat(join(root, path), { bigint: true })
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw error
  }
}
