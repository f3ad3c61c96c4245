import { basename, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { type Command, Option } from 'commander'
import type { ClientMemory, ClientSandboxes } from '../client/index.ts'
import type { BlobExchange, BlobStore } from '../src/blobs/types.ts'
import type { SandboxCheckpointStore } from '../src/checkpoints/types.ts'
import type { KeyStore } from '../src/keys/types.ts'
import type { SweepService } from '../src/sweep/service.ts'
import { UsageError } from './errors.ts'
import { createOutput, type Output } from './output.ts'
import { createProgress, type Progress } from './progress.ts'
import { type Environment, resolveSettings, type Settings } from './settings.ts'
import type { Timers } from './timers.ts'

/** What the commands use of a deployment. */
export interface Client {
  checkpoints: SandboxCheckpointStore
  blobs: BlobExchange & Pick<BlobStore, 'get' | 'put'>
  keys: KeyStore
  memory: Pick<ClientMemory, keyof ClientMemory>
  sandboxes: Pick<ClientSandboxes, keyof ClientSandboxes>
  sweeps: SweepService
}

/** Those that ask a process to end. */
export type EndSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/** What a command gets from the process that it runs in. */
export interface CommandContext {
  env: Environment
  cwd: string
  /** Standard input; asked for only by what reads it. */
  stdin(): AsyncIterable<Uint8Array>
  stdout: Writable
  stderr: Writable & { isTTY?: boolean }
  /** Aborted with an InterruptedError when the user stops the command, and when the command is over. */
  signal: AbortSignal
  /** Has such signals go to the listener, instead of interrupting the command, until the returned function is called. */
  takeSignals(listener: (signal: EndSignal) => void): () => void
  timers: Timers
  connect(settings: Settings, signal?: AbortSignal): Client
}

export interface ConnectionOptions {
  url?: string
  apiKey?: string
  token?: string
  tenant?: string
  project?: string
  json?: boolean
}

export interface ThreadOptions extends ConnectionOptions {
  thread?: string
}

/** A command's view of one deployment and of its caller. */
export interface Session {
  client: Client
  /** Its requests go on when the command is interrupted: a lease has to be released then too. */
  leaseClient: Client
  output: Output
  progress: Progress
  signal: AbortSignal
  settings: Settings
}

export function withConnection(command: Command): Command {
  return command
    .addOption(new Option('--url <url>', 'address of the API (SANDBOX_GATEWAY_URL)'))
    .addOption(
      new Option('--api-key <key>', 'API key; better set SANDBOX_API_KEY, which does not show in process lists'),
    )
    .addOption(new Option('--token <token>', 'token of the identity provider; better set SANDBOX_TOKEN'))
    .addOption(new Option('--tenant <name>', 'tenant (SANDBOX_TENANT)'))
    .addOption(new Option('--project <name>', 'project (SANDBOX_PROJECT)'))
    .addOption(new Option('--json', 'print the result as JSON'))
}

export function withThread(command: Command): Command {
  return withConnection(
    command.addOption(new Option('--thread <id>', 'thread (SANDBOX_THREAD; default: the name of the folder)')),
  )
}

/** @throws UsageError when a setting is missing. */
export async function openSession(context: CommandContext, options: ConnectionOptions): Promise<Session> {
  const settings = await resolveSettings(options, context.env)
  return {
    settings,
    client: context.connect(settings, context.signal),
    leaseClient: context.connect(settings),
    output: createOutput(context.stdout, options.json === true),
    progress: await createProgress(context.stderr, context.stderr.isTTY === true),
    signal: context.signal,
  }
}

/** The thread of a folder: as named, else from the environment, else the folder's own name. */
export function threadOf(context: CommandContext, options: ThreadOptions, directory = '.'): string {
  const thread = options.thread ?? (context.env.SANDBOX_THREAD || basename(resolve(context.cwd, directory)))
  if (thread !== '') return thread
  throw new UsageError('The thread needs a name: give --thread.')
}
