import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3'
import { dollarsOf } from '../../src/cost/estimate.ts'
import { PRICES } from '../../src/cost/prices.ts'
import { buildCommand, type StackProcess, startStackProcess } from '../command-line.ts'
import { median, type Row } from '../harness.ts'
import { findRestic } from '../restic.ts'
import { changeFiles, writeWorkspace } from '../sample-workspace.ts'
import type { RequestCounts } from '../stack-process.ts'
import type { Contender } from './contender.ts'
import { marks, type Takes } from './marks.ts'
import { pushAndPull, saveAndRestore } from './sandkeep.ts'
import { tarScript } from './tar.ts'

const SHAPE = { files: 5_000, bytes: 20_000 }
const CHANGES = 10
const ROUNDS = 2

const WORKS = {
  first: 'first save, 5,000 files, 100 MB',
  again: `save after ${CHANGES} changes`,
  restore: 'restore',
  remove: 'delete the first save',
} as const

type Work = keyof typeof WORKS

interface Sample {
  ms: number
  counts: RequestCounts
  /** Afterwards. */
  storedBytes: number
  /** By how many bytes that is more than before. */
  addedBytes: number
}

/** Samples of a work, by who did it. */
type Samples = Record<Work, Map<string, Sample[]>>

/** A workspace kept by Sandkeep, restic and a tar script, work by work, each over the same S3, in turns. */
export async function compareWorkspaces(): Promise<Row[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sandkeep-peers-'))
  await buildCommand()
  const stack = await startStackProcess()
  const samples: Samples = { first: new Map(), again: new Map(), restore: new Map(), remove: new Map() }
  try {
    const workspace = path.join(folder, 'workspace')
    await writeWorkspace(workspace, SHAPE)
    let isComplete = true
    for (let round = 0; round < ROUNDS; round++) {
      const place = path.join(folder, `round-${round}`)
      const restic = await resticContender(stack, place, round)
      isComplete = restic !== null
      const contenders = [
        pushAndPull(stack, path.join(place, 'push'), `push-${round}`),
        await saveAndRestore(stack, path.join(place, 'run'), `run-${round}`),
        ...(restic ? [restic] : []),
        tarScript(stack, `peer-tar-${round}`),
      ]
      await compareOnce(stack, { contenders, workspace, place, round }, samples)
    }
    return [
      ...(Object.keys(WORKS) as Work[]).flatMap((work) => rowsOf(work, samples[work])),
      ...(isComplete ? [] : [{ what: 'restic is not installed: nothing to compare with' }]),
    ]
  } finally {
    await stack.stop()
    await rm(folder, { recursive: true })
  }
}

async function resticContender(stack: StackProcess, place: string, round: number): Promise<Contender | null> {
  const name = `peer-restic-${round}`
  const restic = await findRestic(stack, path.join(place, 'restic'), name)
  if (!restic) return null
  await restic.init()
  const { backup, restore, forget } = restic
  return { who: 'restic', prefixes: [name], first: backup, again: backup, restore, remove: forget }
}

async function compareOnce(
  stack: StackProcess,
  input: { contenders: readonly Contender[]; workspace: string; place: string; round: number },
  samples: Samples,
): Promise<void> {
  const { contenders, workspace, place, round } = input
  const stored = new Map<string, number>()
  const measure = async (work: Work, each: Contender, run: () => Promise<number>) => {
    await stack.takeCounts()
    const ms = await run()
    const counts = await stack.takeCounts()
    await each.settled?.()
    const later = await stack.takeCounts()
    // To ask whether it is over costs API requests, which are left out.
    for (const name of ['writeUnits', 's3Writes', 's3Reads'] as const) counts[name] += later[name]
    const kept = samples[work].get(each.who) ?? []
    const before = stored.get(each.who) ?? 0
    const after = await storedBytes(stack, each)
    stored.set(each.who, after)
    samples[work].set(each.who, [...kept, { ms, counts, storedBytes: after, addedBytes: Math.max(0, after - before) }])
  }
  try {
    for (const each of contenders) await measure('first', each, () => each.first(workspace))
    await changeFiles(workspace, { ...SHAPE, changes: CHANGES, generation: `round ${round}` })
    for (const each of contenders) await measure('again', each, () => each.again(workspace))
    for (const [index, each] of contenders.entries()) {
      await measure('restore', each, () => each.restore(path.join(place, `target-${index}`)))
    }
    for (const each of contenders) {
      const { remove } = each
      if (remove) await measure('remove', each, () => remove())
    }
  } finally {
    for (const { stop } of contenders) stop?.()
  }
}

async function storedBytes(stack: StackProcess, { prefixes }: Contender): Promise<number> {
  const { s3Endpoint: endpoint, bucketName: Bucket, credentials } = stack
  const client = new S3Client({ endpoint, region: 'us-east-1', credentials, forcePathStyle: true })
  let bytes = 0
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket })) {
    for (const { Key = '', Size = 0 } of Contents) if (prefixes.some((prefix) => Key.includes(prefix))) bytes += Size
  }
  client.destroy()
  return bytes
}

function rowsOf(work: Work, samples: ReadonlyMap<string, Sample[]>): Row[] {
  const taken = new Map([...samples].map(([who, ofWho]) => [who, takesOf(ofWho)]))
  const ours = [...taken].filter(([who]) => who.startsWith('sandkeep'))
  return [...taken].map(([who, { seconds, bytes, requestDollars, dollars, counts, storedBytes }]) => ({
    what: WORKS[work],
    who,
    seconds,
    requests: counts.api + counts.s3Writes + counts.s3Reads + counts.s3Deletes,
    MB: bytes / 1e6,
    'MB stored': storedBytes / 1e6,
    '$ a million': 1e6 * requestDollars,
    '$ with a month': 1e6 * dollars,
    ...(!who.startsWith('sandkeep') &&
      Object.fromEntries(ours.map(([name, own]) => [`${name} is`, marks(own, taken.get(who) ?? own)]))),
  }))
}

/** Times are medians; what is counted is that of the last round. @throws Error when there is no sample */
function takesOf(
  samples: readonly Sample[],
): Takes & Pick<Sample, 'counts' | 'storedBytes'> & { requestDollars: number } {
  const last = samples.at(-1)
  if (!last) throw new Error('Nothing was measured.')
  const { counts, storedBytes, addedBytes } = last
  const requestDollars = dollarsOf({ ...counts, apiRequests: counts.api, backgroundGbSeconds: 0 })
  return {
    seconds: median(samples.map(({ ms }) => ms)) / 1_000,
    bytes: counts.bytesIn + counts.bytesOut,
    // What was added is kept for a month.
    dollars: requestDollars + (addedBytes / 1e9) * PRICES.s3GbMonth,
    requestDollars,
    counts,
    storedBytes,
  }
}
