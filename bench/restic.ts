import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import type { StackAddresses } from './stack-process.ts'

/** restic with a repository and a cache of its own. */
export interface Restic {
  version: string
  init(): Promise<void>
  /** @returns milliseconds, the start of the process included */
  backup(folder: string): Promise<number>
  /** Restores the latest backup as a machine that has nothing of it: its cache is empty. @returns milliseconds */
  restore(folder: string): Promise<number>
  /** Deletes all backups but the newest, with what only they use. @returns milliseconds */
  forget(): Promise<number>
}

/**
 * restic over the stack's own bucket; null where it is not installed. `folder`: for its caches; `name`: of the
 * repository.
 */
export async function findRestic(stack: StackAddresses, folder: string, name = 'peer-restic'): Promise<Restic | null> {
  const { s3Endpoint, bucketName, credentials } = stack
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    RESTIC_REPOSITORY: `s3:${s3Endpoint}/${bucketName}/${name}`,
    RESTIC_PASSWORD: 'bench',
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_DEFAULT_REGION: 'us-east-1',
  }
  const run = async (args: readonly string[], cache: string): Promise<{ ms: number; stdout: string }> => {
    const start = performance.now()
    const child = spawn('restic', args, {
      env: { ...env, RESTIC_CACHE_DIR: cache },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    if (code !== 0) throw new Error(`restic ${args.join(' ')} ended with ${code}: ${stderr}`)
    return { ms: performance.now() - start, stdout }
  }
  const cache = path.join(folder, 'cache')
  const version = await run(['version'], cache).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (version === null) return null
  return {
    version: version.stdout.trim(),
    init: async () => void (await run(['init'], cache)),
    backup: async (source) => (await run(['backup', source], cache)).ms,
    async restore(target) {
      const empty = await mkdtemp(path.join(folder, 'empty-'))
      const { ms } = await run(['restore', 'latest', '--target', target], empty)
      await rm(empty, { recursive: true })
      return ms
    },
    forget: async () => (await run(['forget', '--keep-last', '1', '--prune'], cache)).ms,
  }
}
