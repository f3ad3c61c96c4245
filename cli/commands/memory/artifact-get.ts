import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import {
  type CommandContext,
  type ConnectionOptions,
  openSession,
  type Session,
  withConnection,
} from '../../context.ts'
import { MissingError } from '../../errors.ts'
import { formatBytes, printable, printablePath } from '../../format.ts'
import { parseTurn } from './arguments.ts'

const STDOUT = '-'

export function registerArtifactGet(artifact: Command, context: CommandContext): void {
  withConnection(
    artifact
      .command('get')
      .argument('<task>', 'the task')
      .argument('<turn>', 'its turn')
      .argument('<name>', 'the artifact')
      .argument('[file]', 'where to write it; - for standard output (default: the name, in this folder)'),
  )
    .description('bring an artifact back')
    .addHelpText(
      'after',
      `
The file is replaced when all bytes are there, and not before.

Examples:
  $ sandkeep memory artifact get task-42 1 trajectory.jsonl
  $ sandkeep memory artifact get task-42 1 diff.patch - | git apply`,
    )
    .action(
      async (taskId: string, turnText: string, name: string, file: string | undefined, options: ConnectionOptions) => {
        const turn = parseTurn(turnText)
        const session = await openSession(context, options)
        const found = await session.client.memory.getArtifact({ taskId, turn, name })
        if (!found) {
          throw new MissingError(
            `There is no artifact "${printable(name)}" of turn ${turn} of the task "${printable(taskId)}". \`sandkeep memory get TASK TURN\` lists those there are.`,
          )
        }
        const bytes = withProgress(session, found.stream(), found.sizeBytes)
        if (file === STDOUT) {
          for await (const chunk of bytes) await session.output.text(chunk)
          return
        }
        const target = file ?? name
        await writeWhole(resolve(context.cwd, target), bytes)
        const { contentType, sizeBytes, sha256 } = found
        await session.output.result({ file: target, size_bytes: sizeBytes, content_type: contentType, sha256 }, () => [
          `${printablePath(target)}: ${formatBytes(sizeBytes)}, ${printable(contentType)}`,
        ])
      },
    )
}

async function* withProgress(
  { progress }: Session,
  stream: ReadableStream<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array> {
  progress.start('downloading', size, 'bytes')
  try {
    for await (const chunk of stream) {
      progress.advance(chunk.length)
      yield chunk
    }
  } finally {
    progress.stop()
  }
}

/** Writes a file that is there as a whole or, when the stream fails, as it was. */
async function writeWhole(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.part`
  const handle = await open(temporary, 'wx')
  try {
    await handle.writeFile(bytes)
    await handle.close()
    await rename(temporary, path)
  } catch (error) {
    await handle.close()
    await rm(temporary, { force: true })
    throw error
  }
}
