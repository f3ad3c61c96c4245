import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createClient } from '../client/index.ts'
import { EXCHANGE_LIMIT } from '../src/limits.ts'
import { buildCommand, type StackProcess, sandkeep, startStackProcess } from './command-line.ts'
import { atMost, type BenchResult, median, pairOf } from './harness.ts'
import { type Measured, runNode } from './measured-process.ts'
import { writeWorkspace } from './sample-workspace.ts'

const FILES = 5_000
const FILE_BYTES = 20_000
const THREAD = 'bench'
const PROJECT = 'pull'
const BARE = path.join(import.meta.dirname, 'bare-download.ts')

/**
 * The pull of 5,000 files, 100 MB, into a new folder by the command itself, against a process that downloads the same
 * objects by presigned requests it was given, as many at a time, into files of one folder: nothing looked up, hashed,
 * named, renamed or given a mode. A row shows the same with the bytes dropped, so that no file system is in it.
 */
export async function pull(): Promise<BenchResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sandkeep-pull-'))
  await buildCommand()
  const stack = await startStackProcess()
  try {
    const workspace = path.join(folder, 'workspace')
    await writeWorkspace(workspace, { files: FILES, bytes: FILE_BYTES })
    const user = { stack, project: PROJECT, home: path.join(folder, 'home') }
    await sandkeep(user, ['push', workspace, '--thread', THREAD])
    const downloads = await presignedDownloads(stack)

    let peakBytes = 0
    const dropped: number[] = []
    const times = await pairOf(
      {
        measured: async (turn) => {
          const target = path.join(folder, `target-${turn}`)
          const pulled: Measured = await sandkeep(user, ['pull', target, '--thread', THREAD])
          peakBytes = Math.max(peakBytes, pulled.peakBytes)
          await rm(target, { recursive: true })
          return pulled.ms
        },
        bare: async (turn) => {
          const target = path.join(folder, `bare-${turn}`)
          const { ms } = await runNode(BARE, [target], { env: {}, input: downloads })
          await rm(target, { recursive: true })
          dropped.push((await runNode(BARE, [], { env: {}, input: downloads })).ms)
          return ms
        },
      },
      { turns: 5, warmup: 1 },
    )
    return {
      rows: [
        {
          pull: `${FILES.toLocaleString('en-US')} files, ${(FILES * FILE_BYTES) / 1e6} MB`,
          seconds: times.measured / 1_000,
          'bare seconds': times.bare / 1_000,
          'bare seconds, dropped': median(dropped) / 1_000,
          ratio: times.ratio,
          'peak MB': peakBytes / 1e6,
        },
      ],
      bars: [atMost('pull / bare downloads', times.ratio, 1.5, 'x')],
    }
  } finally {
    await stack.stop()
    await rm(folder, { recursive: true })
  }
}

/** Requests for all blobs of the thread's head, as JSON. They hold for all turns. */
async function presignedDownloads({ url, apiKey }: StackProcess): Promise<string> {
  const client = createClient({ url, apiKey, tenant: 'bench', project: PROJECT })
  const [checkpoint] = await client.checkpoints.list(THREAD)
  const keys = (checkpoint?.files ?? []).flatMap((entry) => (entry.kind === 'file' ? entry.blobKey : []))
  const requests: unknown[] = []
  for (let start = 0; start < keys.length; start += EXCHANGE_LIMIT) {
    const prepared = await client.blobs.prepareDownloads(keys.slice(start, start + EXCHANGE_LIMIT))
    requests.push(...prepared.map(({ download }) => download))
  }
  return JSON.stringify(requests)
}
