import type { Command } from 'commander'
import type { SandboxCheckpoint } from '../../src/checkpoints/types.ts'
import { type CommandContext, openSession, type ThreadOptions, threadOf, withThread } from '../context.ts'
import { MissingError } from '../errors.ts'
import { count, formatBytes, isoTime, printable } from '../format.ts'
import { table } from '../output.ts'
import { summarize } from '../workspace/manifest.ts'

export function registerLog(program: Command, context: CommandContext): void {
  withThread(program.command('log'))
    .description('list the checkpoints of a thread, newest first')
    .addHelpText('after', '\nExamples:\n  $ sandkeep log\n  $ sandkeep log --thread site --json')
    .action(async (options: ThreadOptions) => {
      const threadId = threadOf(context, options)
      const { client, output } = await openSession(context, options)
      const checkpoints = (await client.checkpoints.list(threadId)).reverse().map(describe)
      if (checkpoints.length === 0) {
        throw new MissingError(`The thread "${printable(threadId)}" has no checkpoint. Name another one with --thread.`)
      }
      await output.result({ thread_id: threadId, checkpoints }, () =>
        table(
          checkpoints.map(({ id, created_at, label, reason, files, size_bytes }) => [
            printable(id),
            created_at ?? '-',
            count(files, 'file'),
            formatBytes(size_bytes),
            printable(label === undefined ? reason : label),
          ]),
        ),
      )
    })
}

function describe(checkpoint: SandboxCheckpoint) {
  const { files, folders, symlinks, size } = summarize(checkpoint.files)
  return {
    id: checkpoint.id,
    parent_checkpoint_id: checkpoint.parentCheckpointId,
    created_at: isoTime(checkpoint.createdAt),
    reason: checkpoint.reason,
    ...(checkpoint.label !== undefined && { label: checkpoint.label }),
    files,
    folders,
    symlinks,
    size_bytes: size,
  }
}
