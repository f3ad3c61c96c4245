import type { BlobExchange } from '../../src/blobs/types.ts'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { errnoOf, RefusedError } from '../errors.ts'
import { printablePath } from '../format.ts'
import type { Progress } from '../progress.ts'
import type { Transport } from '../transfer/transport.ts'
import { hashWorkspace } from './hash-workspace.ts'
import { draftEntries, finishedEntries, isScannedFile } from './manifest.ts'
import { byPath } from './paths.ts'
import { type Scan, scanWorkspace, type Unsupported } from './scan.ts'
import type { StatCache } from './stat-cache.ts'
import { uploadMissing } from './upload-missing.ts'

export interface CaptureInput {
  /** The folder: an absolute path. */
  root: string
  /** The entries of the head, whose blobs are in the store for sure while the thread is held. */
  parent: Promise<ReadonlyArray<SandboxSnapshotEntry>>
  /**
   * Take nothing for stored because the parent has it: ask for the blob of each file.
   * @default false
   */
  asksForAll?: boolean
  cache: StatCache
  blobs: BlobExchange
  transport: Transport
  /** Leave out what cannot be kept instead of failing. */
  skipUnsupported: boolean
  /**
   * Keep of a file that does not hold still what the parent has of it, instead of failing.
   * @default false
   */
  skipRestless?: boolean
  /** What is left out whatever the rules say. @default nothing */
  leavesOut?: (path: string) => boolean
  signal: AbortSignal
  progress: Progress
}

export interface Captured {
  files: SandboxSnapshotEntry[]
  /** Whether they are others than those of the parent. */
  changed: boolean
  skipped: Scan['skipped']
  unsupported: Unsupported[]
  /** Files that did not hold still. */
  restless: string[]
  /** How many files were read; the others are known from the stat cache. */
  read: number
  uploads: number
  uploadedBytes: number
}

/**
 * What a folder holds, as the entries of a checkpoint; all its content is in the store when this returns.
 * @throws RefusedError when something cannot be kept, or a file does not hold still, and it is not to be skipped.
 */
export async function captureWorkspace(input: CaptureInput): Promise<Captured> {
  const { root, blobs, transport, signal, progress } = input
  const { draft, ...found } = await draftWorkspace(input)
  const parent = await input.parent
  progress.start('Uploading', 0, 'bytes')
  const { uploads, bytes, restless } = await uploadMissing({
    root,
    files: draft.filter(isScannedFile),
    settled: input.asksForAll ? new Set() : blobKeysOf(parent),
    blobs,
    transport,
    skipRestless: input.skipRestless === true,
    signal,
    progress: { add: (more) => progress.add(more), advance: (done) => progress.advance(done) },
  })
  const files = withEarlier(finishedEntries(draft), parent, restless)
  return { ...found, files, restless: [...found.restless, ...restless], uploads, uploadedBytes: bytes }
}

/** The part before anything is uploaded. What the scan knows of unchanged files is in memory no longer than this runs. */
async function draftWorkspace(input: CaptureInput) {
  const { root, cache, signal, progress, leavesOut = () => false } = input
  const startedAt = Date.now()
  const [parent, scan] = await Promise.all([input.parent, scanWorkspace(root, signal)])
  const entries = scan.entries.filter(({ path }) => !leavesOut(path))
  const files = entries.filter(isScannedFile)
  const { unsupported, restless, read } = await hashWorkspace({
    root,
    files,
    cache,
    skipRestless: input.skipRestless === true,
    signal,
    progress: {
      start: (total) => progress.start('Hashing', total, 'files'),
      advance: () => progress.advance(1),
    },
  })
  if (read > 0) {
    // Before the upload, so that a push that fails from here on need not hash again.
    await cache.save(files, startedAt).catch((error: unknown) => {
      progress.note(`warning: the stat cache was not saved (${errnoOf(error)}); the next push reads all files again`)
    })
  }
  const leftOut = [...scan.unsupported.filter(({ path }) => !leavesOut(path)), ...unsupported]
  reportUnsupported(leftOut, input)
  const { draft, changed } = draftEntries(entries, parent, new Set(restless), input.asksForAll)
  return { draft, changed, skipped: scan.skipped, unsupported: leftOut, restless, read }
}

/** The entries, and those that the parent has of the files at these paths. */
function withEarlier(
  entries: SandboxSnapshotEntry[],
  parent: ReadonlyArray<SandboxSnapshotEntry>,
  paths: readonly string[],
): SandboxSnapshotEntry[] {
  if (paths.length === 0) return entries
  const wanted = new Set(paths)
  const earlier = parent.filter(({ kind, path }) => kind === 'file' && wanted.has(path))
  return [...entries, ...earlier].sort(byPath)
}

function blobKeysOf(entries: ReadonlyArray<SandboxSnapshotEntry>): Set<string> {
  const keys = new Set<string>()
  for (const entry of entries) if (entry.kind === 'file') keys.add(entry.blobKey)
  return keys
}

function reportUnsupported(leftOut: readonly Unsupported[], { skipUnsupported, progress }: CaptureInput): void {
  const lines = leftOut.map(({ path, problem }) => `${printablePath(path)}: ${problem}`)
  if (lines.length === 0) return
  if (!skipUnsupported) {
    throw new RefusedError(
      `${lines.length === 1 ? '1 entry' : `${lines.length} entries`} cannot be kept; nothing was stored. Remove them, name them in .sandkeepignore, or give --skip-unsupported.`,
      lines,
    )
  }
  for (const line of lines) progress.note(`left out: ${line}`)
}
