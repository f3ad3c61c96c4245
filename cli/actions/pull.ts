import { realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { findCheckpoint, headCheckpoint } from '../commands/find.ts'
import { type CommandContext, openSession, type Session, type ThreadOptions, threadOf } from '../context.ts'
import { errnoOf, UsageError } from '../errors.ts'
import { count, formatBytes, printable, printablePath } from '../format.ts'
import { cacheFolder, stateFolder } from '../settings.ts'
import { createTransport } from '../transfer/transport.ts'
import { openProtectedPaths } from '../workspace/protected-paths.ts'
import { type Restored, restoreWorkspace } from '../workspace/restore.ts'
import { statCache } from '../workspace/stat-cache.ts'

export interface PullOptions extends ThreadOptions {
  checkpoint?: string
  delete?: boolean
  /** `--no-external-links` makes it false. */
  externalLinks: boolean
}

export async function runPull(context: CommandContext, dir: string, options: PullOptions): Promise<void> {
  const session = await openSession(context, options)
  const { client, progress, signal } = session
  const checkpoint =
    options.checkpoint === undefined
      ? await headCheckpoint(client, threadOf(context, options, dir))
      : await findCheckpoint(client, options.checkpoint, options.thread)
  const root = await realTarget(resolve(context.cwd, dir))
  const cache = statCache(cacheFolder(context.env), root)
  const startedAt = Date.now()
  const transport = createTransport()
  try {
    const restored = await restoreWorkspace({
      root,
      entries: checkpoint.files,
      blobs: client.blobs,
      transport,
      cache,
      protectedPaths: await openProtectedPaths(stateFolder(context.env), root),
      deletes: options.delete === true,
      externalLinks: options.externalLinks,
      signal,
      progress: {
        start: (bytes) => progress.start('Downloading', bytes, 'bytes'),
        advance: (bytes) => progress.advance(bytes),
      },
    })
    await cache.save(restored.known, startedAt).catch((error: unknown) => {
      progress.note(`warning: the stat cache was not saved (${errnoOf(error)})`)
    })
    progress.stop()
    await report(session, checkpoint.id, root, restored)
  } finally {
    progress.stop()
    transport.close()
  }
}

/**
 * The target may be a link to a folder: the caller named it. What is in it is never reached through a link.
 * @throws UsageError when it is something else than a folder
 */
async function realTarget(path: string): Promise<string> {
  try {
    const real = await realpath(path)
    if ((await stat(real)).isDirectory()) return real
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return path
    if (errnoOf(error) !== 'ENOTDIR') throw error
  }
  throw new UsageError(`${printablePath(path)} is not a folder.`)
}

async function report({ output }: Session, id: string, root: string, restored: Restored): Promise<void> {
  const value = {
    checkpoint_id: id,
    target: root,
    files_written: restored.filesWritten,
    symlinks_written: restored.linksWritten,
    modes_changed: restored.modesChanged,
    files_unchanged: restored.filesUnchanged,
    removed: restored.removed,
    downloads: restored.downloads,
    downloaded_bytes: restored.downloadedBytes,
  }
  await output.result(value, () => {
    const changed = restored.filesWritten + restored.linksWritten + restored.modesChanged + restored.removed.length
    if (changed === 0) return [`${printable(root)} is already at ${printable(id)}`]
    const parts = [`${count(restored.filesWritten, 'file')} written`, `${restored.filesUnchanged} unchanged`]
    if (restored.linksWritten > 0) parts.push(`${count(restored.linksWritten, 'symlink')} written`)
    if (restored.modesChanged > 0) parts.push(`${count(restored.modesChanged, 'mode')} changed`)
    if (restored.removed.length > 0) parts.push(`${restored.removed.length} removed`)
    const downloaded = `downloaded ${count(restored.downloads, 'blob')}, ${formatBytes(restored.downloadedBytes)}`
    return [`${printable(root)} is at ${printable(id)}: ${parts.join(', ')}; ${downloaded}`]
  })
}
