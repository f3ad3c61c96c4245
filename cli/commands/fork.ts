import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { type CommandContext, openSession, type ThreadOptions, threadOf, withThread } from '../context.ts'
import { printable } from '../format.ts'
import { withLease } from '../lease.ts'

interface ForkOptions extends ThreadOptions {
  checkpoint: string
  to: string
}

export function registerFork(program: Command, context: CommandContext): void {
  withThread(program.command('fork'))
    .description('start a new thread from a checkpoint of another one')
    .requiredOption('--checkpoint <id>', 'where the new thread starts')
    .requiredOption('--to <thread>', 'the new thread; it must not exist yet')
    .addHelpText(
      'after',
      `
Example:
  $ sandkeep fork --thread site --checkpoint checkpoint-6f1c0d5e-2f0b-4c57-9a54-0d6c3f1f7c11 --to site-redesign`,
    )
    .action(async (options: ForkOptions) => {
      const { client, leaseClient, output, signal } = await openSession(context, options)
      const sourceThreadId = threadOf(context, options)
      const { checkpoint } = await withLease(leaseClient.checkpoints, options.to, signal, (writer) =>
        client.checkpoints.forkFromCheckpoint({
          sourceThreadId,
          sourceCheckpointId: options.checkpoint,
          destinationThreadId: options.to,
          destinationCheckpointId: `checkpoint-${randomUUID()}`,
          createdAt: Date.now(),
          writer,
        }),
      )
      await output.result({ checkpoint_id: checkpoint.id, thread_id: checkpoint.threadId }, () => [
        `${checkpoint.id}: first of the thread "${printable(checkpoint.threadId)}"`,
      ])
    })
}
