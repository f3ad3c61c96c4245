import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { ExitCodeError, errnoOf, RefusedError } from '../errors.ts'
import { EXIT } from '../exit.ts'
import { printable } from '../format.ts'
import type { Environment } from '../settings.ts'
import type { Timers } from '../timers.ts'
import { Mask } from './mask.ts'
import type { OutputLog } from './output-log.ts'

/** How long what is asked to end may take. */
const GRACE_MS = 10_000
const LOOK_EVERY_MS = 50
/** How long the output is waited for after all that the command started has ended. */
const LAST_OUTPUT_MS = 1_000

export interface CommandInput {
  program: string
  args: readonly string[]
  cwd: string
  env: Environment
  log: OutputLog
  /** Texts that the log is not to show: others may read it. */
  secrets: ReadonlyArray<string | undefined>
  stdout: Writable
  stderr: Writable
  timeoutMs: number | undefined
  timers: Timers
  /** Told, at most once, that the output cannot be logged. */
  onLogError: (error: unknown) => void
  /** Ends at once what runs elsewhere for a command that has ended. */
  killOthers: () => Promise<void>
}

export interface Ended {
  /** Of the command; 128 and the number of the signal that ended it. */
  exitCode: number
  timedOut: boolean
}

export interface RunningCommand {
  /** Passes a signal on to all processes of the command. */
  send(signal: NodeJS.Signals): void
  /** When the command and all processes of its group have ended. */
  ended: Promise<Ended>
}

/**
 * Starts a command in a process group of its own. Its input is ours; its output is passed on and logged.
 * @throws ExitCodeError when it cannot be started
 */
export async function startCommand(input: CommandInput): Promise<RunningCommand> {
  const { program, args, cwd, env } = input
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['inherit', 'pipe', 'pipe'] })
  try {
    await once(child, 'spawn')
  } catch (error) {
    throw notStarted(program, error)
  }
  const group = new ProcessGroup(child)
  return { send: (signal) => group.send(signal), ended: follow(child, group, input) }
}

function notStarted(program: string, error: unknown): ExitCodeError {
  const code = errnoOf(error)
  const what = code === 'ENOENT' ? 'There is no such command' : `The command cannot be executed (${code})`
  return new ExitCodeError(code === 'ENOENT' ? EXIT.commandNotFound : EXIT.notExecutable, {
    cause: new RefusedError(`${what}: ${printable(program)}.`),
  })
}

async function follow(child: ChildProcess, group: ProcessGroup, input: CommandInput): Promise<Ended> {
  const { timeoutMs, timers, killOthers } = input
  const over = new AbortController()
  const output = passOn(child, input, over.signal)
  let timedOut = false
  const callOff: Array<() => void> = []
  const endAtTimeout = () => {
    timedOut = true
    group.send('SIGTERM')
    callOff.push(timers.after(GRACE_MS, () => group.send('SIGKILL')))
  }
  if (timeoutMs !== undefined) callOff.push(timers.after(timeoutMs, endAtTimeout))
  const [code, signal]: [number | null, NodeJS.Signals | null] = await exitOf(child)
  for (const cancel of callOff) cancel()
  await killOthers()
  await group.end()
  over.abort()
  await withinTime(output, child)
  return { exitCode: code ?? EXIT.signal + (signal ? constants.signals[signal] : 0), timedOut }
}

function exitOf(child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve([child.exitCode, child.signalCode])
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve([code, signal])))
}

/** The processes that a command has started, but for those that have left its group. */
class ProcessGroup {
  readonly #id: number

  constructor({ pid }: ChildProcess) {
    if (pid === undefined) throw new Error('A process that runs has an id.')
    this.#id = pid
  }

  /** False when none is left. */
  send(signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-this.#id, signal)
    } catch (error) {
      // EPERM: there is one, of another user.
      return errnoOf(error) === 'EPERM'
    }
  }

  /** Ends what the command has left running: it would change the workspace while that is saved. */
  async end(): Promise<void> {
    if (!this.send('SIGTERM')) return
    for (let waited = 0; waited < GRACE_MS; waited += LOOK_EVERY_MS) {
      await sleep(LOOK_EVERY_MS)
      if (!this.send(0)) return
    }
    this.send('SIGKILL')
  }
}

/** Resolves when there is no more output. Once the command is over, its readers may be slow: the log is not. */
async function passOn(
  child: ChildProcess,
  { log, secrets, stdout, stderr, onLogError }: CommandInput,
  over: AbortSignal,
): Promise<void> {
  let isLogging = true
  let logged = Promise.resolve()
  const record = (chunk: Uint8Array) => {
    // One after the other, in the order in which they were read.
    logged = logged
      .then(() => (isLogging ? log.write(chunk) : undefined))
      .catch((error: unknown) => {
        // Without a log the command goes on: its work counts for more.
        isLogging = false
        onLogError(error)
      })
    return logged
  }
  const pass = async (from: Readable | null, to: Writable) => {
    const mask = new Mask(secrets)
    await copy(from, async (chunk) => {
      await record(mask.pass(chunk))
      await write(to, chunk, over)
    })
    const rest = mask.end()
    if (rest.length > 0) await record(rest)
  }
  await Promise.all([pass(child.stdout, stdout), pass(child.stderr, stderr)])
}

async function copy(from: Readable | null, pass: (chunk: Uint8Array) => Promise<void>): Promise<void> {
  if (!from) return
  try {
    for await (const chunk of from as AsyncIterable<Uint8Array>) await pass(chunk)
  } catch {
    // Nobody reads on: the command is told the same, by the pipe that is closed now.
    from.destroy()
  }
}

/** Waits until the chunk is taken; not once `over` is aborted. */
function write(to: Writable, chunk: Uint8Array, over: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const goOn = () => resolve()
    if (over.aborted) goOn()
    else over.addEventListener('abort', goOn)
    to.write(chunk, (error) => {
      over.removeEventListener('abort', goOn)
      if (error) reject(error)
      else resolve()
    })
  })
}

/** A process that has left the group may hold the output open for ever. */
async function withinTime(output: Promise<void>, { stdout, stderr }: ChildProcess): Promise<void> {
  const over = Promise.withResolvers<void>()
  const giveUp = setTimeout(() => {
    stdout?.destroy()
    stderr?.destroy()
    // Nor may somebody who does not read on keep the work from being saved.
    over.resolve()
  }, LAST_OUTPUT_MS)
  await Promise.race([output, over.promise])
  clearTimeout(giveUp)
}
