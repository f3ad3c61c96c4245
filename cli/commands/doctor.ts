import type { Command } from 'commander'
import { examine } from '../actions/doctor.ts'
import { type CommandContext, type ConnectionOptions, openSession, withConnection } from '../context.ts'
import { ExitCodeError, RefusedError } from '../errors.ts'
import { EXIT } from '../exit.ts'
import { table } from '../output.ts'

export function registerDoctor(program: Command, context: CommandContext): void {
  withConnection(program.command('doctor'))
    .description('check a deployment: a read, a write that is undone, and a dry run of the sweep')
    .addHelpText(
      'after',
      `
It uses the thread "sandkeep-doctor" and leaves it empty. The dry run takes a key with the role project_admin.

Example:
  $ sandkeep doctor`,
    )
    .action(async (options: ConnectionOptions) => {
      const session = await openSession(context, options)
      const { findings, failure } = await examine(session.leaseClient, session.signal).finally(() =>
        session.progress.stop(),
      )
      await session.output.result({ findings }, () =>
        table(findings.map(({ check, ok, detail }) => [check, ok ? 'ok' : 'failed', detail])),
      )
      if (!failure) return
      // A key that may not, and a network that is down, are no fault of the deployment.
      const { exitCode, message } = failure
      const verdict = exitCode === EXIT.failed ? 'The deployment does not work as it should.' : message
      throw new ExitCodeError(exitCode, { cause: new RefusedError(verdict) })
    })
}
