import type { Command } from 'commander'
import { type CommandContext, withConnection } from '../context.ts'
import type { RunOptions } from '../run/options.ts'

export function registerRun(program: Command, context: CommandContext): void {
  const collect = (value: string, before: string[]) => [...before, value]
  withConnection(program.command('run').argument('<command...>', 'the command and its arguments, after --'))
    .description('run a command in the latest workspace of a task, and save what it makes of it')
    .requiredOption('--task <id>', 'the task')
    .option('--profile <name>', 'the kind of sandbox', 'default')
    .option('--from <snapshot>', 'begin with this snapshot, SANDBOX_ID/NUMBER (default: the latest of the task)')
    .option('--dir <folder>', 'the workspace: a folder that is new or empty, and stays (default: a temporary one)')
    .option('--image <image>', 'run the command in a container of this image, with docker or podman')
    .option('--autosave <interval>', 'save as often while the command runs, if something changed; 0s: never', '60s')
    .option('--timeout <time>', 'end the command after this time')
    .option(
      '--meta <name=value>',
      'tell this of the turn, such as model=NAME or agent=NAME; more than once',
      collect,
      [],
    )
    .option('--summary <text>', 'the summary of the turn (default: what the command leaves)')
    .addHelpText(
      'after',
      `
The next run of the task, on any machine, begins with the files that this one leaves. What push leaves out is left out,
and what cannot be kept is named. Signals are passed on to the command; when it has ended, its work is saved.

Each run is a turn of the task in the project's memory: with its exit code and times, the output (output.log) and what
changed (workspace.diff). The command finds SANDBOX_TASK_ID, SANDBOX_ID and SANDBOX_SUMMARY_FILE in its environment. Into
that file, .sandkeep/summary.md in the workspace, it may write the summary; all of .sandkeep is no part of the workspace.

Exit codes: those of the command, 128 and the number of the signal that ended it, and
  2    wrong arguments or missing settings
  123  the command ended, and its work is not saved; the message says where it is and how to save it
  124  the command was ended after --timeout, and said that all is well
  125  the command was not run, or with --image the engine failed; the message says why
  126  the command cannot be executed
  127  there is no such command

Examples:
  $ sandkeep run --task task-42 -- npm test
  $ sandkeep run --task task-42 --timeout 30m --meta model=claude-opus-4-5 --meta agent=claude-code -- claude -p "Fix it"
  $ sandkeep run --task task-42 --image node:24 -- npm test`,
    )
    .action(async (command: string[], options: RunOptions) => {
      // Loaded only here: no other command needs it.
      const { runRun } = await import('../run/run.ts')
      await runRun(context, command, options)
    })
}
