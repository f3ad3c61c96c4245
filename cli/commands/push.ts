import type { Command } from 'commander'
import type { PushOptions } from '../actions/push.ts'
import { type CommandContext, withThread } from '../context.ts'

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
      // Loaded only here: no other command needs it.
      const { runPush } = await import('../actions/push.ts')
      await runPush(context, dir, options)
    })
}
