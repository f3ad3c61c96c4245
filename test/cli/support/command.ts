import { Writable } from 'node:stream'
import type { Client, CommandContext, EndSignal } from '../../../cli/context.ts'
import { run } from '../../../cli/program.ts'
import { systemTimers, type Timers } from '../../../cli/timers.ts'

export interface Outcome {
  code: number
  stdout: string
  stderr: string
}

export interface CommandOptions {
  client: Client
  cwd: string
  home: string
  signal?: AbortSignal
  env?: Record<string, string>
  /** What stands on standard input. @default nothing */
  stdin?: Iterable<Uint8Array>
  /** Told how to send the command a signal, when it takes them itself. */
  onTakeSignals?: (send: (signal: EndSignal) => void) => void
  /** @default those of the system */
  timers?: Timers
  /** Told all of standard error so far. */
  onStderr?: (text: string) => void
}

/** Runs one command line in this process, against a client. */
export async function runCommand(args: string[], options: CommandOptions): Promise<Outcome> {
  const stdout = new Collector()
  const stderr = new Collector(options.onStderr)
  const context: CommandContext = {
    env: {
      HOME: options.home,
      SANDBOX_GATEWAY_URL: 'http://127.0.0.1:9',
      SANDBOX_API_KEY: 'skp_test',
      SANDBOX_TENANT: 'acme',
      SANDBOX_PROJECT: 'site',
      ...options.env,
    },
    cwd: options.cwd,
    stdin: async function* () {
      yield* options.stdin ?? []
    },
    stdout,
    stderr,
    signal: options.signal ?? new AbortController().signal,
    takeSignals(listener) {
      options.onTakeSignals?.(listener)
      return () => undefined
    },
    timers: options.timers ?? systemTimers,
    connect: () => options.client,
  }
  const code = await run(args, context)
  return { code, stdout: stdout.text, stderr: stderr.text }
}

class Collector extends Writable {
  text = ''
  readonly #told: ((text: string) => void) | undefined

  constructor(told?: (text: string) => void) {
    super()
    this.#told = told
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString()
    this.#told?.(this.text)
    done()
  }
}
