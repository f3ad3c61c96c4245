import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { byPath } from './paths.ts'
import type { ScannedEntry, ScannedFile } from './scan.ts'

const FILE_BLOB_PREFIX = 'sandbox-files/sha256/'

/** The blob key of a file with this SHA-256 (hex). */
export function fileBlobKey(sha256: string): string {
  return `${FILE_BLOB_PREFIX}${sha256}`
}

/** The SHA-256 (hex) in the blob key of a file. */
export function sha256OfKey(blobKey: string): string {
  return blobKey.slice(FILE_BLOB_PREFIX.length)
}

/** An entry of the checkpoint to be; a scanned file stands for its own until its content is in the store. */
export type DraftEntry = SandboxSnapshotEntry | ScannedFile

/**
 * What a scan found, which comes by path, as a checkpoint will have it. Of the folders only the empty ones are named: the
 * others follow from what they hold. Files without a hash are left out. An entry that is as in `parent` is that very
 * object: a large workspace that hardly changed is not twice in memory; unless `anew`, where each scanned file stands for
 * itself. Of a `restless` file the parent's entry stands, if there is one. `changed`: whether any entry is another than
 * the parent's.
 */
export function draftEntries(
  scanned: ReadonlyArray<ScannedEntry>,
  parent: ReadonlyArray<SandboxSnapshotEntry>,
  restless: ReadonlySet<string> = new Set(),
  anew = false,
): { draft: DraftEntry[]; changed: boolean } {
  const earlierOf = walkBeside(parent)
  const draft: DraftEntry[] = []
  let reused = 0
  for (const found of scanned) {
    const old = earlierOf(found.path)
    const entry = restless.has(found.path) && old?.kind === 'file' ? old : entryOf(found)
    if (entry === null) continue
    const isAsBefore = old !== undefined && changedAspects(old, entry).length === 0
    if (isAsBefore) reused += 1
    if (isAsBefore && (entry === old || !anew)) draft.push(old)
    else draft.push(found.kind === 'file' ? found : entry)
  }
  return { draft, changed: draft.length !== reused || parent.length !== reused }
}

/** The entries of the checkpoint. Files that have lost their hash meanwhile are left out. */
export function finishedEntries(draft: ReadonlyArray<DraftEntry>): SandboxSnapshotEntry[] {
  const entries: SandboxSnapshotEntry[] = []
  for (const drafted of draft) {
    const entry = isScannedFile(drafted) ? entryOf(drafted) : drafted
    if (entry !== null) entries.push(entry)
  }
  return entries
}

export function isScannedFile(entry: DraftEntry | ScannedEntry): entry is ScannedFile {
  return 'stamp' in entry
}

/** Null for what a checkpoint does not name. */
function entryOf(found: ScannedEntry): SandboxSnapshotEntry | null {
  const { path } = found
  if (found.kind === 'symlink') return { path, kind: 'symlink', target: found.target }
  if (found.kind === 'dir') return found.empty ? { path, kind: 'dir' } : null
  if (found.sha256 === null) return null
  return { path, kind: 'file', blobKey: fileBlobKey(found.sha256), size: found.stamp.size, mode: found.stamp.mode }
}

/** Finds entries for paths that are asked for in their order: a map of all would cost more memory. */
function walkBeside(entries: ReadonlyArray<SandboxSnapshotEntry>): (path: string) => SandboxSnapshotEntry | undefined {
  const sorted = entries.toSorted(byPath)
  let at = 0
  return (path) => {
    let entry = sorted[at]
    while (entry !== undefined && entry.path < path) {
      at += 1
      entry = sorted[at]
    }
    return entry?.path === path ? entry : undefined
  }
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
