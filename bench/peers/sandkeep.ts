import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../../client/index.ts'
import { MOST_UNBUNDLED } from '../../src/cost/operations.ts'
import { type StackProcess, sandkeep } from '../command-line.ts'
import { runNode } from '../measured-process.ts'
import type { Contender } from './contender.ts'

const TENANT = 'bench'
const THREAD = 'bench'
const CHILD = path.join(path.dirname(import.meta.dirname), 'snapshot-process.js')

/** The commands `push`, `pull`, `prune` and `sweep`, each a process. */
export function pushAndPull(stack: StackProcess, folder: string, project: string): Contender {
  const run = async (home: string, ...args: string[]) =>
    (await sandkeep({ stack, project, home: path.join(folder, home) }, args)).ms
  const push = (workspace: string) => run('home', 'push', workspace, '--thread', THREAD)
  return {
    who: 'sandkeep push/pull',
    prefixes: [`/${TENANT}/${project}/`],
    first: push,
    again: push,
    restore: (target) => run('other-home', 'pull', target, '--thread', THREAD),
    async remove() {
      const pruned = await run('home', 'prune', '--thread', THREAD, '--keep', '1')
      return pruned + (await run('home', 'sweep', '--older-than', '0s'))
    },
  }
}

/**
 * What `sandkeep run` does with a workspace: saves it while the command runs, in its own process, and restores it in a
 * new one, from bundles.
 */
export async function saveAndRestore(stack: StackProcess, folder: string, project: string): Promise<Contender> {
  await mkdir(folder, { recursive: true })
  const { sandboxes } = createClient({ ...stack, tenant: TENANT, project })
  const { sandbox } = await sandboxes.create({ profile: 'bench', taskId: 'task' })
  const { sandboxId } = sandbox
  const env = {
    ...{ PATH: process.env.PATH ?? '', BENCH_URL: stack.url, BENCH_API_KEY: stack.apiKey },
    ...{ BENCH_TENANT: TENANT, BENCH_PROJECT: project },
  }
  const gone = new AbortController()
  let saver: ChildProcess | undefined
  let snapshotSeq = 0
  const save = async (workspace: string) => {
    saver ??= fork(CHILD, ['save', workspace, path.join(folder, 'saver'), sandboxId], { env }).once('exit', () =>
      gone.abort(new Error('The process that saves has ended.')),
    )
    saver.send('autosave')
    const [saved] = (await once(saver, 'message', { signal: gone.signal })) as [{ snapshotSeq: number; ms: number }]
    snapshotSeq = saved.snapshotSeq
    return saved.ms
  }
  return {
    who: 'sandkeep run',
    prefixes: [`/${TENANT}/${project}/`],
    first: save,
    again: save,
    async restore(target) {
      const args = ['restore', target, path.join(folder, 'state'), sandboxId, String(snapshotSeq)]
      return (await runNode(CHILD, args, { env })).ms
    },
    /** Until the small blobs are in bundles. */
    async settled() {
      for (let tries = 0; tries < 120; tries++) {
        const { blobs } = await sandboxes.snapshotDownloads({ sandboxId, snapshotSeq })
        if (blobs.length <= MOST_UNBUNDLED) return
        await sleep(500)
      }
      throw new Error('The small blobs are not in bundles after a minute.')
    },
    stop: () => saver?.kill(),
  }
}
