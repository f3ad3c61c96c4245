import type { Command } from 'commander'
import { changeLines } from '../change-lines.ts'
import { type CommandContext, type ConnectionOptions, openSession, withConnection } from '../context.ts'
import { compareEntries } from '../workspace/manifest.ts'
import { findCheckpoint } from './find.ts'

export function registerDiff(program: Command, context: CommandContext): void {
  const command = program.command('diff').argument('<a>', 'the earlier checkpoint').argument('<b>', 'the later one')
  withConnection(command)
    .description('list what differs between two checkpoints')
    .addHelpText(
      'after',
      `
A line for each path: A added, D removed, M changed (and in what: content, mode, kind, target).

Example:
  $ sandkeep diff checkpoint-6f1c0d5e-2f0b-4c57-9a54-0d6c3f1f7c11 checkpoint-0b9d3c1a-7d2e-4f65-8c11-5a2f4e6b7d90`,
    )
    .action(async (a: string, b: string, options: ConnectionOptions) => {
      const { client, output } = await openSession(context, options)
      const [before, after] = await Promise.all([findCheckpoint(client, a), findCheckpoint(client, b)])
      const differences = compareEntries(before.files, after.files)
      const value = {
        added: differences.added.map(({ path }) => path),
        removed: differences.removed.map(({ path }) => path),
        changed: differences.changed.map(({ path, aspects }) => ({ path, aspects })),
      }
      await output.result(value, () => changeLines(differences))
    })
}
