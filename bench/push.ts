import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buildCommand, type StackProcess, sandkeep, startStackProcess, type User } from './command-line.ts'
import { atMost, type BenchResult, median, type Row } from './harness.ts'
import type { Measured } from './measured-process.ts'
import { changeFiles, writeLargeFile, writeWorkspace } from './sample-workspace.ts'
import type { RequestCounts } from './stack-process.ts'

const FILES = 5_000
const FILE_BYTES = 20_000
const SHAPE = { files: FILES, bytes: FILE_BYTES }
const CHANGES = 10
const ROUNDS = 5
const MAX_PEAK_BYTES = 200_000_000

/**
 * The command itself, against a stack in another process: a folder of 100 MB is pushed, ten of its files change, it is
 * pushed again. Each round is a project and a stat cache of its own. Then folders of other shapes, for the memory.
 */
export async function push(): Promise<BenchResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sandkeep-push-'))
  await buildCommand()
  const stack = await startStackProcess()
  try {
    const root = path.join(folder, 'workspace')
    await writeWorkspace(root, SHAPE)
    const rounds: Round[] = []
    for (let number = 0; number < ROUNDS; number++)
      rounds.push(await pushTwice(stack, folder, root, `round-${number}`, SHAPE))
    const opened = await filesOpened(stack, folder, root)

    const manyRoot = path.join(folder, 'many')
    // The names and hashes of all of them are in memory; the uploads of a thousand are as good as those of all.
    const manyShape = { files: 100_000, bytes: 256, distinct: 1_000 }
    await writeWorkspace(manyRoot, manyShape)
    const many = await pushTwice(stack, folder, manyRoot, 'many', manyShape)
    const largeRoot = path.join(folder, 'large')
    await writeLargeFile(largeRoot, 1_024)
    const large = await pushOnce(stack, userOf(stack, folder, 'large'), largeRoot)

    const secondPushes = rounds.map(({ second }) => second)
    const largest = (pick: (push: Push) => number, of: readonly Push[]) => Math.max(...of.map(pick))
    const peak = largest(
      ({ peakBytes }) => peakBytes,
      rounds.flatMap(({ first, second }) => [first, second]),
    )
    return {
      rows: [
        ...rounds.flatMap(({ first, second }, number) => [
          toRow(`round ${number + 1}: 5,000 files, 100 MB`, first),
          toRow(`round ${number + 1}: ${CHANGES} changed`, second),
        ]),
        toRow('100,000 files of 256 bytes, 1,000 contents', many.first),
        toRow(`100,000 files, ${CHANGES} changed`, many.second),
        toRow('1 file of 1 GiB', large),
      ],
      bars: [
        atMost(
          'uploads of the second push',
          largest(({ counts }) => counts.uploads, secondPushes),
          CHANGES,
          'requests',
        ),
        atMost('other requests of the second push', largest(otherRequests, secondPushes), 6, 'requests'),
        atMost('files of the folder that the second push opens', opened, CHANGES, 'files'),
        atMost('second push / first', median(rounds.map(({ first, second }) => second.ms / first.ms)), 0.1, 'x'),
        atMost('peak memory, 5,000 files', peak, MAX_PEAK_BYTES, 'bytes'),
        atMost(
          'peak memory, 100,000 files',
          Math.max(many.first.peakBytes, many.second.peakBytes),
          MAX_PEAK_BYTES,
          'bytes',
        ),
        atMost('peak memory, 1 file of 1 GiB', large.peakBytes, MAX_PEAK_BYTES, 'bytes'),
      ],
    }
  } finally {
    await stack.stop()
    await rm(folder, { recursive: true })
  }
}

interface Push extends Measured {
  counts: RequestCounts
}

interface Round {
  first: Push
  second: Push
}

async function pushTwice(
  stack: StackProcess,
  folder: string,
  root: string,
  project: string,
  { files, bytes }: { files: number; bytes: number },
): Promise<Round> {
  const user = userOf(stack, folder, project)
  const first = await pushOnce(stack, user, root)
  await changeFiles(root, { files, bytes, changes: CHANGES, generation: project })
  return { first, second: await pushOnce(stack, user, root) }
}

async function pushOnce(stack: StackProcess, user: User, root: string): Promise<Push> {
  await stack.takeCounts()
  const measured = await sandkeep(user, ['push', root, '--thread', 'bench', '--json'])
  return { ...measured, counts: await stack.takeCounts() }
}

function userOf(stack: StackProcess, folder: string, project: string): User {
  return { stack, project, home: path.join(folder, `home-${project}`) }
}

/** How many files of the folder a second push opens, by node's own trace, which would slow a push that is timed. */
async function filesOpened(stack: StackProcess, folder: string, root: string): Promise<number> {
  await changeFiles(root, { files: FILES, bytes: FILE_BYTES, changes: CHANGES, generation: 'opened' })
  const user = userOf(stack, folder, 'round-0')
  const traces = await mkdtemp(path.join(folder, 'trace-'))
  const pattern = path.join(traces, `\${pid}-\${rotation}.json`)
  await sandkeep(
    user,
    ['push', root, '--thread', 'bench'],
    ['--trace-event-categories=node.fs.async', `--trace-event-file-pattern=${pattern}`],
  )
  const opened = new Set<string>()
  for (const name of await readdir(traces)) {
    const { traceEvents } = JSON.parse(await readFile(path.join(traces, name), 'utf8')) as { traceEvents: TraceEvent[] }
    for (const { name, args } of traceEvents) if (name === 'open' && args.path?.startsWith(root)) opened.add(args.path)
  }
  if (opened.size === 0) throw new Error('The trace shows no file of the folder, though some had changed.')
  return opened.size
}

interface TraceEvent {
  name: string
  args: { path?: string }
}

function otherRequests({ counts }: Push): number {
  return counts.api + counts.downloads
}

function toRow(push: string, measured: Push): Row {
  return {
    push,
    seconds: measured.ms / 1_000,
    uploads: measured.counts.uploads,
    'other requests': otherRequests(measured),
    'peak MB': measured.peakBytes / 1e6,
  }
}
