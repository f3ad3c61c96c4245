import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import type { Turn } from '../../../client/index.ts'
import { InvalidInputError } from '../../../src/errors.ts'
import { type CommandContext, type ConnectionOptions, openSession, withConnection } from '../../context.ts'
import { MissingError, UsageError } from '../../errors.ts'
import { count, formatBytes, isoTime, printable } from '../../format.ts'
import { isNoFile, notAFile } from '../../local-file.ts'
import { table } from '../../output.ts'
import { parseTurn } from './arguments.ts'
import { turnJson } from './describe.ts'

interface PutOptions extends ConnectionOptions {
  summary?: string
  meta?: string
}

interface GetOptions extends ConnectionOptions {
  only?: 'summary' | 'meta'
}

const STDIN = '-'

export function registerPut(memory: Command, context: CommandContext): void {
  withConnection(memory.command('put').argument('<task>', 'the task').argument('<turn>', 'its turn, 0 to 9999'))
    .description('write a turn, or replace its meta and summary; its artifacts stay')
    .option('--summary <file>', 'the summary, Markdown in UTF-8; - for standard input')
    .option('--meta <file>', 'the meta, a JSON object; - for standard input')
    .addHelpText(
      'after',
      `
What is not given is written empty: a turn is replaced as a whole.

Examples:
  $ sandkeep memory put task-42 1 --summary notes.md --meta meta.json
  $ echo 'Added the login form.' | sandkeep memory put task-42 2 --summary -`,
    )
    .action(async (taskId: string, turnText: string, options: PutOptions) => {
      const turn = parseTurn(turnText)
      if (options.summary === STDIN && options.meta === STDIN) {
        throw new UsageError('Only one of --summary and --meta can be read from standard input.')
      }
      const summaryMd = options.summary === undefined ? '' : await readText(context, options.summary)
      const metaJson = options.meta === undefined ? '{}' : await readText(context, options.meta)
      const { client, output } = await openSession(context, options)
      const written = await client.memory.putTurn({ taskId, turn, metaJson, summaryMd }).catch((error: unknown) => {
        throw withOption(error)
      })
      await output.result(turnJson(written), () => [
        `${written.taskId} turn ${written.turn}, kept until ${isoTime(written.retainUntil) ?? '-'}`,
      ])
    })
}

export function registerGet(memory: Command, context: CommandContext): void {
  withConnection(memory.command('get').argument('<task>', 'the task').argument('<turn>', 'its turn'))
    .description('show a turn')
    .addOption(
      new Option('--only <part>', 'print this part of it alone, as it was written').choices(['summary', 'meta']),
    )
    .addHelpText(
      'after',
      `
Examples:
  $ sandkeep memory get task-42 1
  $ sandkeep memory get task-42 1 --only summary > notes.md`,
    )
    .action(async (taskId: string, turnText: string, options: GetOptions) => {
      const turn = parseTurn(turnText)
      const { client, output } = await openSession(context, options)
      const found = await client.memory.getTurn({ taskId, turn })
      if (!found) {
        throw new MissingError(
          `There is no turn ${turn} of the task "${printable(taskId)}". \`sandkeep memory list\` lists the tasks.`,
        )
      }
      if (options.only === 'summary') await output.text(found.summaryMd)
      else if (options.only === 'meta') await output.text(`${found.metaJson}\n`)
      else await output.result(turnJson(found), () => lines(found))
    })
}

function lines(turn: Turn): string[] {
  return [
    ...table([
      ['task', turn.taskId],
      ['turn', String(turn.turn)],
      ['created', isoTime(turn.createdAt) ?? '-'],
      ['updated', isoTime(turn.updatedAt) ?? '-'],
      ['kept until', isoTime(turn.retainUntil) ?? '-'],
      ['meta', printable(turn.metaJson)],
      ['artifacts', count(turn.artifacts.length, 'artifact')],
    ]),
    ...table(
      turn.artifacts.map(({ name, sizeBytes, contentType }) => [
        `  ${name}`,
        formatBytes(sizeBytes),
        printable(contentType),
      ]),
    ),
    ...(turn.summaryMd === '' ? [] : ['', ...turn.summaryMd.split(/\r?\n/).map(printable)]),
  ]
}

/** A refusal of what an option gave, in the name of the option. */
function withOption(error: unknown): unknown {
  if (!(error instanceof InvalidInputError)) return error
  const message = error.message.replaceAll('metaJson', '--meta').replaceAll('summaryMd', '--summary')
  return new UsageError(message, { cause: error })
}

async function readText(context: CommandContext, file: string): Promise<string> {
  const bytes = file === STDIN ? await readAll(context.stdin()) : await readNamed(context, file)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new UsageError(`${file === STDIN ? 'Standard input' : printable(file)} is not valid UTF-8.`, { cause })
  }
}

/** Pipes, too, have names. */
async function readNamed({ cwd }: CommandContext, file: string): Promise<Uint8Array> {
  try {
    return await readFile(resolve(cwd, file))
  } catch (error) {
    throw isNoFile(error) ? notAFile(file) : error
  }
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}
