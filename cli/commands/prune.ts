import type { Command } from 'commander'
import { type CommandContext, openSession, type ThreadOptions, threadOf, withThread } from '../context.ts'
import { UsageError } from '../errors.ts'
import { printable } from '../format.ts'
import { withLease } from '../lease.ts'

interface PruneOptions extends ThreadOptions {
  keep: string
}

export function registerPrune(program: Command, context: CommandContext): void {
  withThread(program.command('prune'))
    .description('delete all but the newest checkpoints of a thread')
    .requiredOption('--keep <n>', 'how many stay, the head counted; at least 1')
    .addHelpText(
      'after',
      '\nPrints the ids of the deleted checkpoints, oldest first.\n\nExample:\n  $ sandkeep prune --keep 10 --thread site',
    )
    .action(async (options: PruneOptions) => {
      const keep = Number(options.keep)
      if (!/^[0-9]+$/.test(options.keep) || !Number.isSafeInteger(keep) || keep < 1) {
        throw new UsageError(`--keep should be a whole number of at least 1, not "${options.keep}".`)
      }
      const threadId = threadOf(context, options)
      const { client, leaseClient, output, signal } = await openSession(context, options)
      const { deleted } = await withLease(leaseClient.checkpoints, threadId, signal, (writer) =>
        client.checkpoints.deleteCheckpoints({ threadId, keep, writer }),
      )
      await output.result({ thread_id: threadId, deleted }, () =>
        deleted.length === 0 ? ['nothing to delete'] : deleted.map(printable),
      )
    })
}
