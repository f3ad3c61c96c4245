import type { CommandContext } from '../../cli/context.ts'
import { systemTimers } from '../../cli/timers.ts'

/** For a program that is looked at and never run. */
export function unusedContext(): CommandContext {
  const unused = (): never => {
    throw new Error('No command is to be run here.')
  }
  return {
    env: {},
    cwd: '/',
    stdin: unused,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: new AbortController().signal,
    takeSignals: unused,
    timers: systemTimers,
    connect: unused,
  }
}
