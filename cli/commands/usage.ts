import type { Command } from 'commander'
import { type CommandContext, type ConnectionOptions, openSession, withConnection } from '../context.ts'
import { count, formatBytes } from '../format.ts'
import { table } from '../output.ts'

export function registerUsage(program: Command, context: CommandContext): void {
  withConnection(program.command('usage'))
    .description('count what the project keeps')
    .addHelpText(
      'after',
      `
referenced: blobs that checkpoints use, each once; logical: their bytes as often as they are used; unreferenced: what a
sweep may remove.

Example:
  $ sandkeep usage --json`,
    )
    .action(async (options: ConnectionOptions) => {
      const { client, output } = await openSession(context, options)
      const usage = await client.sweeps.usage()
      const value = {
        threads: usage.threads,
        checkpoints: usage.checkpoints,
        referenced_blobs: usage.referencedBlobs,
        referenced_bytes: usage.referencedBytes,
        logical_bytes: usage.logicalBytes,
        unreferenced_blobs: usage.unreferencedBlobs,
        unreferenced_bytes: usage.unreferencedBytes,
      }
      await output.result(value, () => {
        const number = (amount: number) => amount.toLocaleString('en-US')
        return table([
          ['threads', number(usage.threads)],
          ['checkpoints', number(usage.checkpoints)],
          ['referenced', `${count(usage.referencedBlobs, 'blob')}, ${formatBytes(usage.referencedBytes)}`],
          ['logical', formatBytes(usage.logicalBytes)],
          ['unreferenced', `${count(usage.unreferencedBlobs, 'blob')}, ${formatBytes(usage.unreferencedBytes)}`],
        ])
      })
    })
}
