import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Outcome } from './command.ts'

const MAIN = join(import.meta.dirname, '../../../cli/main.ts')

export interface SpawnOptions {
  cwd: string
  env: Record<string, string>
  /** Run as a user without special rights, whatever the tests run as. */
  unprivileged?: boolean
  /** Told of the child and all that it has written to standard error so far. */
  onStderr?: (text: string, child: ChildProcess) => void
  onStart?: (child: ChildProcess) => void
}

export const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

/** Runs the command as users do: a process of its own. */
export function spawnCommand(args: string[], options: SpawnOptions): Promise<Outcome & { signal: string | null }> {
  const user = options.unprivileged && isRoot ? { uid: NOBODY, gid: NOBODY } : {}
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: options.cwd,
    env: { PATH: process.env.PATH, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
  })
  options.onStart?.(child)
  const outcome = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    outcome.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    outcome.stderr += text
    options.onStderr?.(outcome.stderr, child)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ ...outcome, code: code ?? -1, signal }))
  })
}
