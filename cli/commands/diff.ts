import type { Command } from 'commander'
import { type CommandContext, type ConnectionOptions, openSession, withConnection } from '../context.ts'
import { formatMode, printable } from '../format.ts'
import { compareEntries, type EntryChange } from '../workspace/manifest.ts'
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
      const { added, removed, changed } = compareEntries(before.files, after.files)
      const value = {
        added: added.map(({ path }) => path),
        removed: removed.map(({ path }) => path),
        changed: changed.map(({ path, aspects }) => ({ path, aspects })),
      }
      await output.result(value, () => [
        ...added.map(({ path }) => `A ${printable(path)}`),
        ...removed.map(({ path }) => `D ${printable(path)}`),
        ...changed.map((change) => `M ${printable(change.path)} (${describeChange(change)})`),
      ])
    })
}

function describeChange({ aspects, before, after }: EntryChange): string {
  return aspects
    .map((aspect) => {
      if (aspect === 'kind') return `${before.kind} to ${after.kind}`
      if (aspect === 'mode' && before.kind === 'file' && after.kind === 'file') {
        return `mode ${formatMode(before.mode)} to ${formatMode(after.mode)}`
      }
      return aspect
    })
    .join(', ')
}
