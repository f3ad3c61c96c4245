import { basename, extname, resolve } from 'node:path'
import type { Command } from 'commander'
import {
  type CommandContext,
  type ConnectionOptions,
  openSession,
  type Session,
  withConnection,
} from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { formatBytes } from '../../format.ts'
import { localFile } from '../../local-file.ts'
import { parseTurn } from './arguments.ts'
import { describeArtifact } from './describe.ts'

interface PutOptions extends ConnectionOptions {
  name?: string
  type?: string
}

const STDIN = '-'

const typeOfExtension: Readonly<Record<string, string>> = {
  '.diff': 'text/x-diff',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.jsonl': 'application/x-ndjson',
  '.log': 'text/plain',
  '.md': 'text/markdown',
  '.ndjson': 'application/x-ndjson',
  '.patch': 'text/x-diff',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.zip': 'application/zip',
}

export function registerArtifactPut(artifact: Command, context: CommandContext): void {
  withConnection(
    artifact
      .command('put')
      .argument('<task>', 'the task')
      .argument('<turn>', 'its turn; made when it is not there')
      .argument('<file>', 'the file; - for standard input'),
  )
    .description('keep a file as an artifact of a turn, or replace it')
    .option('--name <name>', 'of the artifact (default: the name of the file)')
    .option('--type <type>', 'its content type (default: by the extension of the name)')
    .addHelpText(
      'after',
      `
At most 50 MiB. A name has 1 to 128 characters of A-Z a-z 0-9 . _ -

Examples:
  $ sandkeep memory artifact put task-42 1 trajectory.jsonl
  $ git diff | sandkeep memory artifact put task-42 1 - --name diff.patch`,
    )
    .action(async (taskId: string, turnText: string, file: string, options: PutOptions) => {
      const turn = parseTurn(turnText)
      const name = options.name ?? (file === STDIN ? undefined : basename(resolve(context.cwd, file)))
      if (name === undefined) throw new UsageError('Standard input has no name: give --name.')
      const content = file === STDIN ? context.stdin() : { path: await localFile(context.cwd, file) }
      const contentType = options.type ?? typeOfExtension[extname(name).toLowerCase()] ?? 'application/octet-stream'
      const session = await openSession(context, options)
      const record = await session.client.memory
        .putArtifact({ taskId, turn, name, content, contentType, onProgress: progressOf(session) })
        .finally(() => session.progress.stop())
      await session.output.result(describeArtifact(record), () => [
        `${record.name}: ${formatBytes(record.sizeBytes)}, ${record.contentType}`,
      ])
    })
}

/** The bytes that are sent, as a stage of the progress. */
function progressOf({ progress }: Session): (progress: { sentBytes: number; totalBytes: number }) => void {
  let shown: number | undefined
  return ({ sentBytes, totalBytes }) => {
    if (shown === undefined) progress.start('uploading', totalBytes, 'bytes')
    progress.advance(sentBytes - (shown ?? 0))
    shown = sentBytes
  }
}
