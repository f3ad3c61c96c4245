import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Measured, runNode } from './measured-process.ts'
import type { RequestCounts, StackAddresses } from './stack-process.ts'

const ROOT = path.dirname(import.meta.dirname)
const MAIN = path.join(ROOT, 'dist', 'cli', 'main.js')

/**
 * Builds the command as its users have it: with the types stripped when it is built, not when it runs. Once, before
 * anything is measured. @throws Error with the compiler's words
 */
export async function buildCommand(): Promise<void> {
  const compiler = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  await promisify(execFile)(process.execPath, [compiler, '-p', path.join(ROOT, 'tsconfig.build.json')]).catch(
    ({ stdout }: { stdout: string }) => {
      throw new Error(`The command cannot be built: ${stdout}`)
    },
  )
}

/** A local stack in a process of its own. */
export interface StackProcess extends StackAddresses {
  /** The requests since the last time. */
  takeCounts(): Promise<RequestCounts>
  stop(): Promise<void>
}

export async function startStackProcess(): Promise<StackProcess> {
  const child = fork(path.join(import.meta.dirname, 'stack-process.ts'), [], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [addresses] = (await once(child, 'message')) as [StackAddresses]
  return {
    ...addresses,
    takeCounts: async () => {
      child.send('take')
      const [counts] = await once(child, 'message')
      return counts
    },
    stop: async () => {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}

/** How a user calls the command: a project, and a home for settings and caches. */
export interface User {
  stack: StackProcess
  project: string
  home: string
}

/** Runs the command as a user does. `flags`: of node. @throws Error with its stderr when it fails */
export function sandkeep(
  { stack, project, home }: User,
  args: readonly string[],
  flags: readonly string[] = [],
): Promise<Measured> {
  return runNode(MAIN, args, {
    flags,
    env: {
      HOME: home,
      SANDBOX_GATEWAY_URL: stack.url,
      SANDBOX_API_KEY: stack.apiKey,
      SANDBOX_TENANT: 'bench',
      SANDBOX_PROJECT: project,
    },
  })
}
