import { execFile } from 'node:child_process'
import { access, constants, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { UsageError } from '../errors.ts'
import type { Environment } from '../settings.ts'

const ENGINES = ['docker', 'podman'] as const

export interface ContainerEngine {
  name: (typeof ENGINES)[number]
  program: string
}

/** Where the workspace is in a container. */
export const CONTAINER_WORKSPACE = '/workspace'

/** @throws UsageError when neither engine is on the PATH */
export async function findEngine({ PATH = '' }: Environment): Promise<ContainerEngine> {
  for (const name of ENGINES) {
    for (const folder of PATH.split(delimiter)) {
      if (folder !== '' && (await isExecutable(join(folder, name)))) return { name, program: join(folder, name) }
    }
  }
  throw new UsageError('--image needs docker or podman on the PATH. Install one of them, or leave out --image.')
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

export interface ContainerInput {
  engine: ContainerEngine
  image: string
  /** Of the container; free to be used. */
  name: string
  /** The folder on this machine. */
  workspace: string
  /** What the command finds in its environment. */
  env: Readonly<Record<string, string>>
  command: readonly string[]
}

/** The arguments of the engine. What the command writes belongs to who runs it. */
export function containerArguments({ engine, image, name, workspace, env, command }: ContainerInput): string[] {
  return [
    'run',
    '--rm',
    '--init',
    '--interactive',
    `--name=${name}`,
    ...userArguments(engine),
    `--mount=type=bind,${csvField(`source=${workspace}`)},target=${CONTAINER_WORKSPACE}`,
    `--workdir=${CONTAINER_WORKSPACE}`,
    ...Object.entries(env).map(([variable, value]) => `--env=${variable}=${value}`),
    image,
    ...command,
  ]
}

/** Engines read a mount as a line of CSV. */
function csvField(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function userArguments({ name }: ContainerEngine): string[] {
  const [user, group] = [process.getuid?.(), process.getgid?.()]
  if (user === undefined || group === undefined || user === 0) return []
  return name === 'podman' ? ['--userns=keep-id'] : [`--user=${user}:${group}`]
}

/** An engine that does not answer is not waited for any longer. */
const KILL_MS = 10_000

/** Ends a container at once, should its client have ended before it. One that has ended is no error. */
export function killContainer({ program }: ContainerEngine, name: string, env: Environment): Promise<void> {
  return new Promise((resolve) => {
    execFile(program, ['kill', name], { env, timeout: KILL_MS }, () => resolve())
  })
}
