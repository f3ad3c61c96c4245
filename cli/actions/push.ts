import { randomUUID } from 'node:crypto'
import { realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { SandboxCheckpoint, SandboxCheckpointWriterLease } from '../../src/checkpoints/types.ts'
import { type CommandContext, openSession, type Session, type ThreadOptions, threadOf } from '../context.ts'
import { errnoOf, UsageError } from '../errors.ts'
import { count, formatBytes, printable, printablePath } from '../format.ts'
import { withLease } from '../lease.ts'
import { collectGarbageAfter } from '../memory.ts'
import { cacheFolder, stateFolder } from '../settings.ts'
import { createTransport } from '../transfer/transport.ts'
import { type Captured, captureWorkspace } from '../workspace/capture.ts'
import { summarize } from '../workspace/manifest.ts'
import { openProtectedPaths } from '../workspace/protected-paths.ts'
import { type StatCache, statCache } from '../workspace/stat-cache.ts'

export interface PushOptions extends ThreadOptions {
  label?: string
  skipUnsupported?: boolean
}

export async function runPush(context: CommandContext, dir: string, options: PushOptions): Promise<void> {
  const root = await openFolder(resolve(context.cwd, dir))
  const threadId = threadOf(context, options, dir)
  const session = await openSession(context, options)
  const cache = statCache(cacheFolder(context.env), root)
  await withLease(session.leaseClient.checkpoints, threadId, session.signal, (lease, signal) =>
    push({ ...session, signal }, { root, threadId, lease, cache, options }),
  ).finally(() => session.progress.stop())
  // From now on a checkpoint has all that the rules let through.
  await (await openProtectedPaths(stateFolder(context.env), root)).retain(() => false)
}

async function openFolder(path: string): Promise<string> {
  try {
    if ((await stat(path)).isDirectory()) return await realpath(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') throw error
  }
  throw new UsageError(`${printablePath(path)} is not a folder.`)
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
  const head = headOf(session, threadId, lease)
  const transport = createTransport()
  const captured = await captureWorkspace({
    root,
    parent: head.then((checkpoint) => checkpoint?.files ?? []),
    cache,
    blobs: client.blobs,
    transport,
    skipUnsupported: options.skipUnsupported === true,
    signal,
    progress,
  }).finally(() => transport.close())
  const parent = await head
  if (parent !== null && !captured.changed && options.label === undefined) {
    await report(session, parent, captured, false)
    return
  }
  const checkpoint: SandboxCheckpoint = {
    id: `checkpoint-${randomUUID()}`,
    threadId,
    parentCheckpointId: parent?.id ?? null,
    createdAt: Date.now(),
    reason: options.label === undefined ? 'automatic' : 'named',
    ...(options.label !== undefined && { label: options.label }),
    files: captured.files,
    // What others keep in the thread goes on with it.
    conversation: parent?.conversation ?? [],
    artifacts: parent?.artifacts ?? [],
  }
  signal.throwIfAborted()
  collectGarbageAfter(checkpoint.files.length)
  await client.checkpoints.append({ checkpoint, expectedHeadId: checkpoint.parentCheckpointId, writer: lease })
  await report(session, checkpoint, captured, true)
}

async function headOf(
  { client }: Session,
  threadId: string,
  { headId }: SandboxCheckpointWriterLease,
): Promise<SandboxCheckpoint | null> {
  const id = headId === undefined ? await client.checkpoints.getHead(threadId) : headId
  return id === null ? null : client.checkpoints.get(id)
}

async function report(
  { output, progress }: Session,
  checkpoint: SandboxCheckpoint,
  captured: Captured,
  isNew: boolean,
): Promise<void> {
  progress.stop()
  const summary = summarize(checkpoint.files)
  const { skipped, unsupported, uploads, uploadedBytes } = captured
  const value = {
    checkpoint_id: checkpoint.id,
    thread_id: checkpoint.threadId,
    parent_checkpoint_id: checkpoint.parentCheckpointId,
    changed: isNew,
    files: summary.files,
    folders: summary.folders,
    symlinks: summary.symlinks,
    size_bytes: summary.size,
    files_read: captured.read,
    uploads,
    uploaded_bytes: uploadedBytes,
    skipped,
    unsupported,
  }
  await output.result(value, () => {
    const kept = `${count(summary.files, 'file')}, ${formatBytes(summary.size)}`
    const first = isNew
      ? `${checkpoint.id}: ${kept}; uploaded ${count(uploads, 'blob')}, ${formatBytes(uploadedBytes)}`
      : `nothing changed since ${printable(checkpoint.id)}: ${kept}`
    return [first, ...skippedLine(skipped)]
  })
}

function skippedLine(skipped: Captured['skipped']): string[] {
  if (skipped.length === 0) return []
  const builtIn = skipped.filter(({ reason }) => reason === 'built_in').length
  const parts: string[] = []
  if (builtIn > 0) parts.push(`${builtIn} by fixed rules (.git, node_modules, .env*)`)
  if (skipped.length > builtIn) parts.push(`${skipped.length - builtIn} by ignore files`)
  return [`skipped ${skipped.length}: ${parts.join(', ')}`]
}
