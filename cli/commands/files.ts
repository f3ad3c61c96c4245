import { openAsBlob } from 'node:fs'
import { basename, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { sandboxFiles } from '../../client/ai/files.ts'
import type { SandboxFile, SandboxFilesClient, SandboxScope } from '../../client/ai/types.ts'
import { FILE_EXPIRY_SECONDS } from '../../src/files/rules.ts'
import { type CommandContext, type ConnectionOptions, withConnection } from '../context.ts'
import { parseDuration } from '../duration.ts'
import { UsageError } from '../errors.ts'
import { formatBytes, printable } from '../format.ts'
import { localFile } from '../local-file.ts'
import { createOutput, table } from '../output.ts'
import { createProgress } from '../progress.ts'
import { saveDownload } from '../save-download.ts'
import { resolveSettings } from '../settings.ts'

interface FileOptions extends ConnectionOptions {
  user?: string
}

interface PutOptions extends FileOptions {
  name?: string
  type?: string
  scope: SandboxScope
  expiresIn?: string
  origin?: 'sandbox'
}

export function registerFiles(program: Command, context: CommandContext): void {
  const files = program.command('files').description('keep files for sandboxes, and fetch what sandboxes made')
  registerPut(files, context)
  registerGet(files, context)
  registerList(files, context)
  withUser(files.command('rm').argument('<id...>', 'the ids of the files'))
    .description('delete files, at once and for good')
    .addHelpText('after', '\nExample:\n  $ sandkeep files rm FILE_ID')
    .action(async (ids: string[], options: FileOptions) => {
      const client = await connect(context, options)
      for (const id of ids) await client.delete(id)
      const output = createOutput(context.stdout, options.json === true)
      await output.result({ deleted: ids }, () => ids.map((id) => `deleted ${printable(id)}`))
    })
}

function registerPut(files: Command, context: CommandContext): void {
  withUser(files.command('put').argument('<path>', 'the file, of at most 32 MiB'))
    .description('upload a file and print its id')
    .option('--name <name>', 'its name (default: the last part of the path)')
    .option('--type <type>', 'its media type, such as text/csv (default: application/octet-stream)')
    .addOption(new Option('--scope <scope>', 'who may see it').choices(['user', 'app']).default('user'))
    .option('--expires-in <time>', 'how long it is kept, from 1h to 90d (default: 30d)')
    .addOption(new Option('--origin <origin>', 'sandbox: what a sandbox made, to be downloaded').choices(['sandbox']))
    .addHelpText(
      'after',
      '\nExamples:\n  $ sandkeep files put data.csv --type text/csv\n  $ sandkeep files put report.pdf --origin sandbox',
    )
    .action(async (path: string, options: PutOptions) => {
      const expiresInSeconds = secondsOf(options.expiresIn)
      const client = await connect(context, options, options.scope)
      const file = await openAsBlob(
        await localFile(context.cwd, path),
        options.type === undefined ? {} : { type: options.type },
      )
      const progress = await createProgress(context.stderr, context.stderr.isTTY === true)
      let sent = 0
      progress.start('upload', file.size, 'bytes')
      const stored = await client
        .upload(file, {
          filename: options.name ?? basename(path),
          expiresInSeconds,
          origin: options.origin,
          onProgress: ({ loaded }) => {
            progress.advance(loaded - sent)
            sent = loaded
          },
        })
        .finally(() => progress.stop())
      await createOutput(context.stdout, options.json === true).result(stored, () => [printable(stored.id)])
    })
}

function registerGet(files: Command, context: CommandContext): void {
  withUser(
    files
      .command('get')
      .argument('<id>', 'the id of the file')
      .argument('[path]', 'where to; a folder, a file, or - for standard output (default: here, by its name)'),
  )
    .description('download a file that a sandbox made')
    .option('--force', 'replace what is there')
    .addHelpText('after', '\nExamples:\n  $ sandkeep files get FILE_ID\n  $ sandkeep files get FILE_ID - | head')
    .action(async (id: string, path: string | undefined, options: FileOptions & { force?: boolean }) => {
      const client = await connect(context, options)
      const file = await client.get(id)
      const response = await client.download(id)
      const saved = await saveDownload(response, {
        name: file.filename,
        path: path === '-' ? undefined : resolve(context.cwd, path ?? '.'),
        force: options.force === true,
        stdout: context.stdout,
      })
      if (saved === undefined) return
      const output = createOutput(context.stdout, options.json === true)
      await output.result({ ...file, path: saved }, () => [printable(saved)])
    })
}

function registerList(files: Command, context: CommandContext): void {
  withUser(files.command('list'))
    .description('list the files that you can see, the newest first')
    .option('--limit <number>', 'how many at most', '20')
    .addHelpText('after', '\nExample:\n  $ sandkeep files list --limit 100')
    .action(async (options: FileOptions & { limit: string }) => {
      if (!/^[1-9][0-9]{0,8}$/.test(options.limit)) throw new UsageError('--limit should be a whole number from 1 on.')
      const found = await listUpTo(await connect(context, options), Number(options.limit))
      const output = createOutput(context.stdout, options.json === true)
      await output.result({ files: found }, () => table(found.map(row)))
    })
}

async function listUpTo(client: SandboxFilesClient, limit: number): Promise<SandboxFile[]> {
  const found: SandboxFile[] = []
  let page: string | null = null
  do {
    const answer: Awaited<ReturnType<SandboxFilesClient['list']>> = await client.list({
      limit: Math.min(100, limit - found.length),
      ...(page !== null && { page }),
    })
    found.push(...answer.data)
    page = answer.next_page
  } while (page !== null && found.length < limit)
  return found
}

function row({ id, filename, size_bytes, created_at, downloadable }: SandboxFile): string[] {
  const kind = downloadable ? 'made' : 'uploaded'
  return [printable(id), printable(created_at), formatBytes(size_bytes), kind, printable(filename)]
}

function withUser(command: Command): Command {
  return withConnection(command).option('--user <id>', 'the user that the API key acts for')
}

async function connect(
  context: CommandContext,
  options: FileOptions,
  scope?: SandboxScope,
): Promise<SandboxFilesClient> {
  const { url, apiKey, token, tenant, project } = await resolveSettings(options, context.env)
  const env = {
    SANDBOX_GATEWAY_URL: url,
    SANDBOX_TENANT: tenant,
    SANDBOX_PROJECT: project,
    SANDBOX_API_KEY: apiKey,
    APP_OWNER_JWT: token,
  }
  return sandboxFiles(env, { scope, userId: options.user, signal: context.signal })
}

function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const seconds = parseDuration('--expires-in', text) / 1_000
  if (seconds >= FILE_EXPIRY_SECONDS.least && seconds <= FILE_EXPIRY_SECONDS.most) return seconds
  throw new UsageError(`--expires-in should be from 1h to 90d, not "${text}".`)
}
