import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, type SandkeepClient } from '../client/index.ts'
import { buildCommand, type StackProcess, startStackProcess } from './command-line.ts'
import { atMost, type BenchResult, median, pairOf, type Row } from './harness.ts'
import { type Measured, runNode } from './measured-process.ts'
import { findRestic, type Restic } from './restic.ts'
import { changeFiles, writeWorkspace } from './sample-workspace.ts'
import type { RequestCounts } from './stack-process.ts'

const SHAPE = { files: 5_000, bytes: 20_000 }
const CHANGES = 10
const TURNS = { turns: 7, warmup: 1 }
const SCOPE = { tenant: 'bench', project: 'resume' }
const CHILD = path.join(import.meta.dirname, 'snapshot-process.js')

/**
 * A workspace of 5,000 files, 100 MB, is saved as snapshots after ten changes each, and restored into empty folders, by
 * the code of the command; restic does the same with the same folder, over the same S3, turn by turn. A restore is a
 * process of its own on both sides, with empty caches; a save is one of a run, which has the workspace in its hands,
 * against a backup with restic's cache.
 */
export async function resume(): Promise<BenchResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sandkeep-resume-'))
  await buildCommand()
  const stack = await startStackProcess()
  const children: ChildProcess[] = []
  try {
    const restic = await findRestic(stack, path.join(folder, 'restic'))
    const workspace = path.join(folder, 'workspace')
    await writeWorkspace(workspace, SHAPE)
    const client = createClient({ ...stack, ...SCOPE })
    const { sandbox } = await client.sandboxes.create({ profile: 'bench', taskId: 'task' })
    const saver = fork(CHILD, ['save', workspace, path.join(folder, 'saver'), sandbox.sandboxId], { env: envOf(stack) })
    children.push(saver)
    let snapshot = { sandboxId: sandbox.sandboxId, snapshotSeq: (await save(saver)).snapshotSeq }
    await bundlesOf(client, snapshot)
    await restic?.init()
    await restic?.backup(workspace)

    const saves: RequestCounts[] = []
    const saving = await turns(restic, {
      measured: async (turn) => {
        await changeFiles(workspace, { ...SHAPE, changes: CHANGES, generation: `turn ${turn}` })
        await stack.takeCounts()
        const { ms, snapshotSeq } = await save(saver)
        saves.push(await stack.takeCounts())
        snapshot = { ...snapshot, snapshotSeq }
        await bundlesOf(client, snapshot)
        return ms
      },
      bare: (_turn, { backup }) => backup(workspace),
    })
    const restores: Measured[] = []
    const restoring = await turns(restic, {
      measured: async (turn) => {
        const target = path.join(folder, `target-${turn}`)
        const args = ['restore', target, path.join(folder, `state-${turn}`), snapshot.sandboxId]
        const restored = await runNode(CHILD, [...args, String(snapshot.snapshotSeq)], { env: envOf(stack) })
        if (turn === 0) await checkSame(workspace, target)
        restores.push(restored)
        return restored.ms
      },
      // What is deleted slows those who make files afterwards: all targets stay until the end.
      bare: (turn, { restore }) => restore(path.join(folder, `restic-${turn}`)),
    })
    await stack.takeCounts()
    await client.sandboxes.create({ profile: 'bench', taskId: 'task', restoreLatest: true })
    const { dynamodb } = await stack.takeCounts()

    const most = (pick: (counts: RequestCounts) => number) => Math.max(...saves.map(pick))
    return {
      rows: [
        rowOf(`save after ${CHANGES} changes`, saving, saves.at(-1)),
        {
          ...rowOf('restore of 5,000 files, 100 MB', restoring),
          downloads: Number(restores.at(-1)?.stdout),
          'peak MB': Math.max(...restores.map(({ peakBytes }) => peakBytes)) / 1e6,
        },
        ...(restic ? [] : [{ resume: 'restic is not installed: nothing to compare with' }]),
      ],
      bars: [
        ...(saving.ratio === undefined ? [] : [atMost('save / restic backup', saving.ratio, 0.5, 'x')]),
        ...(restoring.ratio === undefined ? [] : [atMost('restore / restic restore', restoring.ratio, 1, 'x')]),
        atMost(
          'uploads of a save',
          most(({ uploads }) => uploads),
          CHANGES,
          'requests',
        ),
        atMost(
          'other requests of a save',
          most(({ api, downloads }) => api + downloads),
          7,
          'requests',
        ),
        // One of them is the authorizer's.
        atMost('calls of DynamoDB of a create with restore', dynamodb - 1, 3, 'calls'),
      ],
    }
  } finally {
    for (const child of children) child.kill()
    await stack.stop()
    await rm(folder, { recursive: true })
  }
}

interface Times {
  measured: number
  bare?: number
  ratio?: number
}

/** Both sides turn by turn, or ours alone. */
async function turns(
  restic: Restic | null,
  works: {
    measured: (turn: number) => Promise<number>
    bare: (turn: number, restic: Restic) => Promise<number>
  },
): Promise<Times> {
  if (restic) return pairOf({ measured: works.measured, bare: (turn) => works.bare(turn, restic) }, TURNS)
  const times: number[] = []
  for (let turn = 0; turn < TURNS.warmup + TURNS.turns; turn++) times.push(await works.measured(turn))
  return { measured: median(times.slice(TURNS.warmup)) }
}

function rowOf(resume: string, { measured, bare, ratio }: Times, counts?: RequestCounts): Row {
  return {
    resume,
    seconds: measured / 1_000,
    ...(bare !== undefined && { 'restic seconds': bare / 1_000 }),
    ...(ratio !== undefined && { ratio }),
    ...(counts && { uploads: counts.uploads, 'other requests': counts.api + counts.downloads }),
  }
}

function envOf({ url, apiKey }: StackProcess): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    BENCH_URL: url,
    BENCH_API_KEY: apiKey,
    BENCH_TENANT: SCOPE.tenant,
    BENCH_PROJECT: SCOPE.project,
  }
}

async function save(saver: ChildProcess): Promise<{ snapshotSeq: number; ms: number }> {
  saver.send('autosave')
  const [saved] = (await once(saver, 'message')) as [{ snapshotSeq: number; ms: number }]
  return saved
}

/** Waits until the bundles of a snapshot are there. */
async function bundlesOf(client: SandkeepClient, name: { sandboxId: string; snapshotSeq: number }): Promise<void> {
  for (;;) {
    const { blobs } = await client.sandboxes.snapshotDownloads(name)
    if (blobs.length <= CHANGES * (TURNS.warmup + TURNS.turns)) return
    await sleep(200)
  }
}

/** @throws Error naming a file that is not in both folders with the same bytes */
async function checkSame(left: string, right: string): Promise<void> {
  const names = async (root: string) => {
    const entries = await readdir(root, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
      .sort()
  }
  const [expected, found] = await Promise.all([names(left), names(right)])
  if (expected.join('\n') !== found.join('\n')) throw new Error('The restored folder has other files.')
  for (const name of expected) {
    const [one, other] = await Promise.all([readFile(path.join(left, name)), readFile(path.join(right, name))])
    if (!one.equals(other)) throw new Error(`${name} was restored with other bytes.`)
  }
}
