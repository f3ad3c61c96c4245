import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { type CommandContext, openSession, type Session, type ThreadOptions, threadOf, withThread } from '../context.ts'
import { errnoOf } from '../errors.ts'
import { count, formatBytes, printable } from '../format.ts'
import { cacheFolder, stateFolder } from '../settings.ts'
import { createTransport } from '../transfer/transport.ts'
import { openProtectedPaths } from '../workspace/protected-paths.ts'
import { type Restored, restoreWorkspace } from '../workspace/restore.ts'
import { openStatCache } from '../workspace/stat-cache.ts'
import { findCheckpoint, headCheckpoint } from './find.ts'

interface PullOptions extends ThreadOptions {
  checkpoint?: string
  delete?: boolean
  /** `--no-external-links` makes it false. */
  externalLinks: boolean
}

export function registerPull(program: Command, context: CommandContext): void {
  withThread(program.command('pull').argument('[dir]', 'the folder to bring it back to; made when missing', '.'))
    .description('bring a checkpoint back into a folder')
    .option('--checkpoint <id>', 'which one (default: the head of the thread)')
    .option('--delete', 'remove what the checkpoint does not have; never what a push leaves out')
    .option('--no-external-links', 'refuse symlinks that lead out of the folder')
    .addHelpText(
      'after',
      `
Every byte is downloaded and checked before the folder is touched. Files that differ are replaced. An interrupted pull
is finished by running it again.

Examples:
  $ sandkeep pull
  $ sandkeep pull /tmp/site --thread site --delete
  $ sandkeep pull /tmp/old --checkpoint checkpoint-6f1c0d5e-2f0b-4c57-9a54-0d6c3f1f7c11`,
    )
    .action(async (dir: string, options: PullOptions) => {
      const session = await openSession(context, options)
      const { client, progress, signal } = session
      const checkpoint =
        options.checkpoint === undefined
          ? await headCheckpoint(client, threadOf(context, options, dir))
          : await findCheckpoint(client, options.checkpoint, options.thread)
      const root = await realTarget(resolve(context.cwd, dir))
      const cache = await openStatCache(cacheFolder(context.env), root)
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
        await cache.save(restored.hashed, startedAt).catch((error: unknown) => {
          progress.note(`warning: the stat cache was not saved (${errnoOf(error)})`)
        })
        progress.stop()
        await report(session, checkpoint.id, root, restored)
      } finally {
        progress.stop()
        transport.close()
      }
    })
}

/** The target may be a link to a folder: the caller named it. What is in it is never reached through a link. */
async function realTarget(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return path
    throw error
  }
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
