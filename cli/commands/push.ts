import { randomUUID } from 'node:crypto'
import { realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { SandboxCheckpoint, SandboxCheckpointWriterLease } from '../../src/checkpoints/types.ts'
import { type CommandContext, openSession, type Session, type ThreadOptions, threadOf, withThread } from '../context.ts'
import { errnoOf, RefusedError, UsageError } from '../errors.ts'
import { count, formatBytes, printable } from '../format.ts'
import { withLease } from '../lease.ts'
import { cacheFolder } from '../settings.ts'
import { createTransport } from '../transfer/transport.ts'
import { hashWorkspace } from '../workspace/hash-workspace.ts'
import { checkpointEntries, compareEntries, isFileEntry, summarize } from '../workspace/manifest.ts'
import { type Scan, scanWorkspace, type Unsupported } from '../workspace/scan.ts'
import { openStatCache, type StatCache } from '../workspace/stat-cache.ts'
import { uploadMissing } from '../workspace/upload-missing.ts'

interface PushOptions extends ThreadOptions {
  label?: string
  skipUnsupported?: boolean
}

export function registerPush(program: Command, context: CommandContext): void {
  withThread(program.command('push').argument('[dir]', 'the folder to keep', '.'))
    .description('keep a folder as a new checkpoint of its thread')
    .option('--label <text>', 'name the checkpoint; makes one even when nothing changed')
    .option('--skip-unsupported', 'leave out what cannot be kept (FIFO, socket, device, unreadable) instead of failing')
    .addHelpText(
      'after',
      `
Keeps files with their permission bits, empty folders and symlinks (as links). Leaves out .git, node_modules, .env*
and what .gitignore and .sandkeepignore in the folder and below it say.

Examples:
  $ sandkeep push
  $ sandkeep push ~/work/site --thread site --label "before the upgrade"`,
    )
    .action(async (dir: string, options: PushOptions) => {
      const root = await openFolder(resolve(context.cwd, dir))
      const threadId = threadOf(context, options, dir)
      const session = await openSession(context, options)
      const cache = await openStatCache(cacheFolder(context.env), root)
      await withLease(session.leaseClient.checkpoints, threadId, session.signal, (lease, signal) =>
        push({ ...session, signal }, { root, threadId, lease, cache, options }),
      ).finally(() => session.progress.stop())
    })
}

async function openFolder(path: string): Promise<string> {
  try {
    if ((await stat(path)).isDirectory()) return await realpath(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') throw error
  }
  throw new UsageError(`${path} is not a folder.`)
}

interface PushInput {
  root: string
  threadId: string
  lease: SandboxCheckpointWriterLease
  cache: StatCache
  options: PushOptions
}

async function push(session: Session, { root, threadId, lease, cache, options }: PushInput): Promise<void> {
  const { client, progress, signal } = session
  const startedAt = Date.now()
  const [parent, scan] = await Promise.all([headOf(session, threadId, lease), scanWorkspace(root, signal)])
  const { hashed, unsupported, read } = await hashWorkspace({
    root,
    entries: scan.entries,
    cache,
    signal,
    progress: {
      start: (files) => progress.start('Hashing', files, 'files'),
      advance: () => progress.advance(1),
    },
  })
  reportUnsupported(session, [...scan.unsupported, ...unsupported], options.skipUnsupported === true)
  if (read > 0) {
    // Before the upload, so that a push that fails there need not hash again.
    await cache.save(hashed, startedAt).catch((error: unknown) => {
      progress.note(`warning: the stat cache was not saved (${errnoOf(error)}); the next push reads all files again`)
    })
  }
  const transport = createTransport()
  progress.start('Uploading', 0, 'bytes')
  const uploaded = await uploadMissing({
    root,
    hashed,
    present: new Set((parent?.files ?? []).filter(isFileEntry).map(({ blobKey }) => blobKey)),
    blobs: client.blobs,
    transport,
    signal,
    progress: { add: (bytes) => progress.add(bytes), advance: (bytes) => progress.advance(bytes) },
  }).finally(() => transport.close())
  const files = checkpointEntries(scan.entries, hashed, parent?.files ?? [])
  const differences = compareEntries(parent?.files ?? [], files)
  const changes = differences.added.length + differences.removed.length + differences.changed.length
  const isNew = parent === null || changes > 0 || options.label !== undefined
  const checkpoint: SandboxCheckpoint = {
    id: `checkpoint-${randomUUID()}`,
    threadId,
    parentCheckpointId: parent?.id ?? null,
    createdAt: Date.now(),
    reason: options.label === undefined ? 'automatic' : 'named',
    ...(options.label !== undefined && { label: options.label }),
    files,
    // What others keep in the thread goes on with it.
    conversation: parent?.conversation ?? [],
    artifacts: parent?.artifacts ?? [],
  }
  signal.throwIfAborted()
  if (isNew) {
    await client.checkpoints.append({ checkpoint, expectedHeadId: checkpoint.parentCheckpointId, writer: lease })
  }
  progress.stop()
  await report(session, { checkpoint: isNew ? checkpoint : parent, isNew, scan, unsupported, read, uploaded })
}

async function headOf(
  { client }: Session,
  threadId: string,
  { headId }: SandboxCheckpointWriterLease,
): Promise<SandboxCheckpoint | null> {
  const id = headId === undefined ? await client.checkpoints.getHead(threadId) : headId
  return id === null ? null : client.checkpoints.get(id)
}

function reportUnsupported({ progress }: Session, unsupported: readonly Unsupported[], skip: boolean): void {
  const lines = unsupported.map(({ path, problem }) => `${printable(path)}: ${problem}`)
  if (lines.length === 0) return
  if (!skip) {
    throw new RefusedError(
      `${count(lines.length, 'entry').replace('entrys', 'entries')} cannot be kept; nothing was stored. Remove them, name them in .sandkeepignore, or give --skip-unsupported.`,
      lines,
    )
  }
  for (const line of lines) progress.note(`left out: ${line}`)
}

interface PushReport {
  checkpoint: SandboxCheckpoint
  isNew: boolean
  scan: Scan
  unsupported: readonly Unsupported[]
  read: number
  uploaded: { uploads: number; bytes: number }
}

async function report({ output }: Session, pushed: PushReport): Promise<void> {
  const { checkpoint, isNew, scan, uploaded } = pushed
  const summary = summarize(checkpoint.files)
  const unsupported = [...scan.unsupported, ...pushed.unsupported]
  const value = {
    checkpoint_id: checkpoint.id,
    thread_id: checkpoint.threadId,
    parent_checkpoint_id: checkpoint.parentCheckpointId,
    changed: isNew,
    files: summary.files,
    folders: summary.folders,
    symlinks: summary.symlinks,
    size_bytes: summary.size,
    files_read: pushed.read,
    uploads: uploaded.uploads,
    uploaded_bytes: uploaded.bytes,
    skipped: scan.skipped,
    unsupported,
  }
  await output.result(value, () => {
    const kept = `${count(summary.files, 'file')}, ${formatBytes(summary.size)}`
    const first = isNew
      ? `${checkpoint.id}: ${kept}; uploaded ${count(uploaded.uploads, 'blob')}, ${formatBytes(uploaded.bytes)}`
      : `nothing changed since ${printable(checkpoint.id)}: ${kept}`
    return [first, ...skippedLine(scan)]
  })
}

function skippedLine(scan: Scan): string[] {
  if (scan.skipped.length === 0) return []
  const builtIn = scan.skipped.filter(({ reason }) => reason === 'built_in').length
  const parts: string[] = []
  if (builtIn > 0) parts.push(`${builtIn} by fixed rules (.git, node_modules, .env*)`)
  if (scan.skipped.length > builtIn) parts.push(`${scan.skipped.length - builtIn} by ignore files`)
  return [`skipped ${scan.skipped.length}: ${parts.join(', ')}`]
}
