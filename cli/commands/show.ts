import type { Command } from 'commander'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { type CommandContext, type ConnectionOptions, openSession, withConnection } from '../context.ts'
import { count, formatBytes, formatMode, isoTime, printable } from '../format.ts'
import { table } from '../output.ts'
import { summarize } from '../workspace/manifest.ts'
import { findCheckpoint } from './find.ts'

export function registerShow(program: Command, context: CommandContext): void {
  withConnection(program.command('show').argument('<id>', 'the checkpoint'))
    .description('show a checkpoint and the files in it')
    .addHelpText('after', '\nExample:\n  $ sandkeep show checkpoint-6f1c0d5e-2f0b-4c57-9a54-0d6c3f1f7c11')
    .action(async (id: string, options: ConnectionOptions) => {
      const { client, output } = await openSession(context, options)
      const checkpoint = await findCheckpoint(client, id)
      const { files, folders, symlinks, size } = summarize(checkpoint.files)
      const value = {
        id: checkpoint.id,
        thread_id: checkpoint.threadId,
        parent_checkpoint_id: checkpoint.parentCheckpointId,
        created_at: isoTime(checkpoint.createdAt),
        reason: checkpoint.reason,
        ...(checkpoint.label !== undefined && { label: checkpoint.label }),
        files,
        folders,
        symlinks,
        size_bytes: size,
        messages: checkpoint.conversation.length,
        artifacts: checkpoint.artifacts.length,
        entries: checkpoint.files.map(describeEntry),
      }
      await output.result(value, () => [
        ...table([
          ['checkpoint', printable(checkpoint.id)],
          ['thread', printable(checkpoint.threadId)],
          ['parent', checkpoint.parentCheckpointId === null ? '-' : printable(checkpoint.parentCheckpointId)],
          ['created', value.created_at ?? '-'],
          ['reason', printable(checkpoint.reason)],
          ['label', checkpoint.label === undefined ? '-' : printable(checkpoint.label)],
          [
            'holds',
            `${count(files, 'file')}, ${formatBytes(size)}; ${count(folders, 'empty folder')}; ${count(symlinks, 'symlink')}`,
          ],
          ['also', `${count(value.messages, 'message')}, ${count(value.artifacts, 'artifact')}`],
        ]),
        '',
        ...table(checkpoint.files.map(entryRow)),
      ])
    })
}

function describeEntry(entry: SandboxSnapshotEntry) {
  if (entry.kind === 'symlink') return { path: entry.path, kind: entry.kind, target: entry.target }
  if (entry.kind === 'dir') return { path: entry.path, kind: entry.kind }
  const mode = entry.mode === undefined ? {} : { mode: formatMode(entry.mode) }
  return { path: entry.path, kind: entry.kind, ...mode, size_bytes: entry.size, key: entry.blobKey }
}

function entryRow(entry: SandboxSnapshotEntry): string[] {
  if (entry.kind === 'symlink') return ['link', '-', `${printable(entry.path)} -> ${printable(entry.target)}`]
  if (entry.kind === 'dir') return ['dir', '-', `${printable(entry.path)}/`]
  return [formatMode(entry.mode), formatBytes(entry.size), printable(entry.path)]
}
