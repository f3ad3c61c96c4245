import type { Command } from 'commander'
import type { PullOptions } from '../actions/pull.ts'
import { type CommandContext, withThread } from '../context.ts'

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
      // Loaded only here: no other command needs it.
      const { runPull } = await import('../actions/pull.ts')
      await runPull(context, dir, options)
    })
}
