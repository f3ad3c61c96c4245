import type { Command } from 'commander'
import { type CommandContext, type ConnectionOptions, withConnection } from '../context.ts'

export function registerSave(program: Command, context: CommandContext): void {
  withConnection(program.command('save').argument('<folder>', 'the folder of the run, not its workspace'))
    .description('save the work of a run that could not save it itself')
    .addHelpText(
      'after',
      `
For a folder that \`sandkeep run\` names when it cannot save its work, or that it left when it was killed: in the folder
for temporary files, sandkeep-run-*. Saves the workspace for the next run of the task, and writes the turn. The folder
stays; remove it afterwards.

Example:
  $ sandkeep save /tmp/sandkeep-run-x1Y2z3`,
    )
    .action(async (folder: string, options: ConnectionOptions) => {
      // Loaded only here: no other command needs it.
      const { runSave } = await import('../run/save.ts')
      await runSave(context, folder, options)
    })
}
