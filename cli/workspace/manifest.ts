import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { byPath } from './paths.ts'
import type { ScannedEntry } from './scan.ts'

const FILE_BLOB_PREFIX = 'sandbox-files/sha256/'

/** The blob key of a file with this SHA-256 (hex). */
export function fileBlobKey(sha256: string): string {
  return `${FILE_BLOB_PREFIX}${sha256}`
}

/** The SHA-256 (hex) in the blob key of a file. */
export function sha256OfKey(blobKey: string): string {
  return blobKey.slice(FILE_BLOB_PREFIX.length)
}

/**
 * The entries of a checkpoint for what a scan found. Of the folders only the empty ones are named: the others follow
 * from what they hold. Files without a hash are left out. An entry that is as in `parent` is that very object: a large
 * workspace that hardly changed is not twice in memory. `changed`: whether the entries are others than the parent's.
 */
export function checkpointEntries(
  scanned: ReadonlyArray<ScannedEntry>,
  parent: ReadonlyArray<SandboxSnapshotEntry>,
): { entries: SandboxSnapshotEntry[]; changed: boolean } {
  const earlier = new Map<string, SandboxSnapshotEntry>()
  for (const entry of parent) earlier.set(entry.path, entry)
  let reused = 0
  const reuse = (entry: SandboxSnapshotEntry) => {
    const old = earlier.get(entry.path)
    if (old === undefined || changedAspects(old, entry).length > 0) return entry
    reused += 1
    return old
  }
  const entries: SandboxSnapshotEntry[] = []
  for (const entry of scanned) {
    if (entry.kind === 'symlink') {
      entries.push(reuse({ path: entry.path, kind: 'symlink', target: entry.target }))
    } else if (entry.kind === 'dir') {
      if (entry.empty) entries.push(reuse({ path: entry.path, kind: 'dir' }))
    } else if (entry.sha256 !== null) {
      const { size, mode } = entry.stamp
      entries.push(reuse({ path: entry.path, kind: 'file', blobKey: fileBlobKey(entry.sha256), size, mode }))
    }
  }
  return { entries, changed: entries.length !== reused || parent.length !== reused }
}

export type ChangedAspect = 'kind' | 'content' | 'mode' | 'target'

export interface EntryChange {
  path: string
  aspects: ChangedAspect[]
  before: SandboxSnapshotEntry
  after: SandboxSnapshotEntry
}

export interface EntryDifferences {
  added: SandboxSnapshotEntry[]
  removed: SandboxSnapshotEntry[]
  changed: EntryChange[]
}

/** What leads from one list of entries to another, each part by path in code unit order. */
export function compareEntries(
  before: ReadonlyArray<SandboxSnapshotEntry>,
  after: ReadonlyArray<SandboxSnapshotEntry>,
): EntryDifferences {
  const earlier = new Map(before.map((entry) => [entry.path, entry]))
  const differences: EntryDifferences = { added: [], removed: [], changed: [] }
  for (const entry of after) {
    const old = earlier.get(entry.path)
    earlier.delete(entry.path)
    if (old === undefined) {
      differences.added.push(entry)
      continue
    }
    const aspects = changedAspects(old, entry)
    if (aspects.length > 0) differences.changed.push({ path: entry.path, aspects, before: old, after: entry })
  }
  differences.removed.push(...earlier.values())
  for (const part of [differences.added, differences.removed, differences.changed]) {
    part.sort(byPath)
  }
  return differences
}

function changedAspects(before: SandboxSnapshotEntry, after: SandboxSnapshotEntry): ChangedAspect[] {
  if (before.kind === 'file' && after.kind === 'file') {
    const aspects: ChangedAspect[] = []
    // A wrong size under the right key is no unchanged file: it could not be brought back.
    if (before.blobKey !== after.blobKey || before.size !== after.size) aspects.push('content')
    if (before.mode !== after.mode) aspects.push('mode')
    return aspects
  }
  if (before.kind === 'symlink' && after.kind === 'symlink') return before.target === after.target ? [] : ['target']
  return before.kind === after.kind ? [] : ['kind']
}

export interface EntrySummary {
  files: number
  folders: number
  symlinks: number
  /** Bytes of all files. */
  size: number
}

export function summarize(entries: ReadonlyArray<SandboxSnapshotEntry>): EntrySummary {
  const summary: EntrySummary = { files: 0, folders: 0, symlinks: 0, size: 0 }
  for (const entry of entries) {
    if (entry.kind === 'dir') summary.folders += 1
    else if (entry.kind === 'symlink') summary.symlinks += 1
    else {
      summary.files += 1
      summary.size += entry.size
    }
  }
  return summary
}
