import type { BlobExchange } from '../../src/blobs/types.ts'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { errnoOf, RefusedError } from '../errors.ts'
import { printablePath } from '../format.ts'
import type { Progress } from '../progress.ts'
import type { Transport } from '../transfer/transport.ts'
import { hashWorkspace } from './hash-workspace.ts'
import { draftEntries, finishedEntries, isScannedFile } from './manifest.ts'
import { type Scan, scanWorkspace, type Unsupported } from './scan.ts'
import type { StatCache } from './stat-cache.ts'
import { uploadMissing } from './upload-missing.ts'

export interface CaptureInput {
  /** The folder: an absolute path. */
  root: string
  /** The entries of the head, whose blobs are in the store for sure while the thread is held. */
  parent: Promise<ReadonlyArray<SandboxSnapshotEntry>>
  cache: StatCache
  blobs: BlobExchange
  transport: Transport
  /** Leave out what cannot be kept instead of failing. */
  skipUnsupported: boolean
  signal: AbortSignal
  progress: Progress
}

export interface Captured {
  files: SandboxSnapshotEntry[]
  /** Whether they are others than those of the parent. */
  changed: boolean
  skipped: Scan['skipped']
  unsupported: Unsupported[]
  /** How many files were read; the others are known from the stat cache. */
  read: number
  uploads: number
  uploadedBytes: number
}

/**
 * What a folder holds, as the entries of a checkpoint; all its content is in the store when this returns.
 * @throws RefusedError when something cannot be kept, or a file does not hold still.
 */
export async function captureWorkspace(input: CaptureInput): Promise<Captured> {
  const { root, blobs, transport, signal, progress } = input
  const { draft, ...found } = await draftWorkspace(input)
  progress.start('Uploading', 0, 'bytes')
  const { uploads, bytes } = await uploadMissing({
    root,
    files: draft.filter(isScannedFile),
    settled: blobKeysOf(await input.parent),
    blobs,
    transport,
    signal,
    progress: { add: (more) => progress.add(more), advance: (done) => progress.advance(done) },
  })
  return { ...found, files: finishedEntries(draft), uploads, uploadedBytes: bytes }
}

/** The part before anything is uploaded. What the scan knows of unchanged files is in memory no longer than this runs. */
async function draftWorkspace(input: CaptureInput) {
  const { root, cache, signal, progress } = input
  const startedAt = Date.now()
  const [parent, scan] = await Promise.all([input.parent, scanWorkspace(root, signal)])
  const files = scan.entries.filter(isScannedFile)
  const { unsupported, read } = await hashWorkspace({
    root,
    files,
    cache,
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
  const leftOut = [...scan.unsupported, ...unsupported]
  reportUnsupported(leftOut, input)
  const { draft, changed } = draftEntries(scan.entries, parent)
  return { draft, changed, skipped: scan.skipped, unsupported: leftOut, read }
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
