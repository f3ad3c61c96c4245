import { Writable } from 'node:stream'
import type { Client, CommandContext } from '../../../cli/context.ts'
import { run } from '../../../cli/program.ts'

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
}

/** Runs one command line in this process, against a client. */
export async function runCommand(args: string[], options: CommandOptions): Promise<Outcome> {
  const stdout = new Collector()
  const stderr = new Collector()
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
    connect: () => options.client,
  }
  const code = await run(args, context)
  return { code, stdout: stdout.text, stderr: stderr.text }
}

class Collector extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}
