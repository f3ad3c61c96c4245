import { randomBytes, randomUUID } from 'node:crypto'
import { type TransactWriteItem, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb'
import { type CheckpointStore, createCheckpointStore } from '../src/checkpoints/store.ts'
import type { SandboxCheckpointWriterLease } from '../src/checkpoints/types.ts'
import type { Scope } from '../src/tenancy/scope.ts'
import { type Engines, startEngines } from '../test/support/engines.ts'
import { atMost, type BenchResult, pair, type Row, timed } from './harness.ts'
import { RequestMeter } from './request-meter.ts'
import { sampleCheckpoint, sampleFiles } from './sample-checkpoints.ts'

const FILE_COUNTS = [1, 100, 5_000, 100_000]
const APPENDS = 5
/** The clock stands still: both threads of the comparison then have the same items. */
const NOW = 1_760_000_000_000

/**
 * What an append asks of DynamoDB and S3 at each size, and how its latency at one file compares with a bare
 * TransactWriteItems of the very same actions, sent to a second thread that stands where the first one stood.
 */
export async function append(): Promise<BenchResult> {
  const engines = await startEngines()
  try {
    const rows: Row[] = []
    for (const files of FILE_COUNTS) {
      const name = `${files.toLocaleString('en-US')} ${files === 1 ? 'file' : 'files'}`
      rows.push(await countRequests(engines, { name, files, scope: engines.freshScope(), threadId: 'thread' }))
    }
    rows.push(await countRequests(engines, LONGEST))
    const worst = (column: string) => Math.max(...rows.map((row) => Number(row[column])))
    const { row, ratio } = await compareLatency(engines)
    return {
      rows: [...rows, row],
      bars: [
        atMost('TransactWriteItems per append', worst('transactions'), 1, 'requests'),
        atMost('actions per transaction', worst('actions'), 4, 'actions'),
        atMost('other requests per append', worst('other requests'), 2, 'requests'),
        atMost('write request units per append', worst('write units'), 16, 'units'),
        atMost('latency at 1 file / bare TransactWriteItems', ratio, 1.5, 'x'),
      ],
    }
  } finally {
    await engines.stop()
  }
}

interface Sample {
  name: string
  files: number
  scope: Scope
  threadId: string
  /** A token of the caller's own, for the lease and for the write. */
  token?: string
  /** UTF-16 code units of a conversation that hardly compresses, for each append. */
  noise?: number[]
}

/** The most units: all names as long as they may be, and a body just below and just above what an item takes. */
const LONGEST: Sample = {
  name: 'longest names, largest body of an item',
  files: 1,
  scope: { tenant: 't'.repeat(128), project: 'p'.repeat(128) },
  threadId: '\u{20ac}'.repeat(80),
  token: '\u{20ac}'.repeat(128),
  noise: [4_700, 4_800, 4_900, 5_000, 5_100],
}

/** The largest numbers of several appends to one thread: the first has no parent, later ones do. */
async function countRequests(engines: Engines, sample: Sample): Promise<Row> {
  const { store, lease } = await openThread(engines, sample)
  const meter = new RequestMeter(engines)
  const appends: Array<{ transactions: number; actions: number; others: number; units: number; ms: number }> = []
  let parent: string | null = null
  for (let sequence = 1; sequence <= APPENDS; sequence++) {
    const files = sampleFiles(sample.files, sequence, new Set([sequence - 1]))
    const checkpoint = sampleCheckpoint(sample.threadId, sequence, parent, files)
    if (sample.noise) checkpoint.conversation = [noise(sample.noise[sequence - 1] ?? 0)]
    const requestToken = sample.token ?? randomUUID()
    // The object of the lease saves a read; a copy of it, as the HTTP API has one, does not.
    const writer = sequence % 2 === 0 ? lease : { ...lease }
    const input = { checkpoint, expectedHeadId: parent, writer, requestToken }
    const ms = await timed(() => store.append(input))
    const requests = meter.take()
    const transactions = requests.filter(({ command }) => command === 'TransactWriteItemsCommand')
    appends.push({
      transactions: transactions.length,
      actions: Math.max(...transactions.map(({ actions = 0 }) => actions)),
      others: requests.length - transactions.length,
      units: requests.reduce((sum, { units }) => sum + units, 0),
      ms,
    })
    parent = checkpoint.id
  }
  meter.remove()
  const largest = (pick: (append: (typeof appends)[number]) => number) => Math.max(...appends.map(pick))
  return {
    append: sample.name,
    transactions: largest(({ transactions }) => transactions),
    actions: largest(({ actions }) => actions),
    'other requests': largest(({ others }) => others),
    'write units': largest(({ units }) => units),
    'ms (metered)': largest(({ ms }) => ms),
  }
}

function noise(length: number): string {
  return randomBytes(length).toString('base64').slice(0, length)
}

async function compareLatency(engines: Engines): Promise<{ row: Row; ratio: number }> {
  const scope = engines.freshScope()
  const copy = engines.freshScope()
  const { store, lease } = await openThread(engines, { scope, threadId: 'thread' })
  await openThread(engines, { scope: copy, threadId: 'thread' })

  let sent: TransactWriteItem[] = []
  engines.dynamodb.middlewareStack.add(
    (next, context) => async (args) => {
      if (context.commandName === 'TransactWriteItemsCommand') {
        sent = (args.input as { TransactItems: TransactWriteItem[] }).TransactItems
      }
      return next(args)
    },
    { step: 'deserialize', name: 'capture' },
  )
  const files = sampleFiles(1)
  let parent: string | null = null
  const result = await pair(
    {
      measured: async (turn) => {
        const checkpoint = sampleCheckpoint('thread', turn, parent, files)
        await store.append({ checkpoint, expectedHeadId: parent, writer: lease })
        parent = checkpoint.id
      },
      bare: async () => {
        const actions = sent.map((action) => inScope(action, scope, copy))
        await engines.dynamodb.send(
          new TransactWriteItemsCommand({ TransactItems: actions, ClientRequestToken: randomUUID() }),
        )
      },
    },
    { turns: 400, warmup: 100 },
  )
  engines.dynamodb.middlewareStack.remove('capture')
  return {
    ratio: result.ratio,
    row: { append: '1 file, p50', ms: result.measured, 'bare ms': result.bare, ratio: result.ratio },
  }
}

/** The action on the item of the same place in another scope. */
function inScope(action: TransactWriteItem, from: Scope, to: Scope): TransactWriteItem {
  const moved = structuredClone(action)
  const key = moved.Put?.Item ?? moved.Update?.Key ?? moved.Delete?.Key ?? moved.ConditionCheck?.Key
  if (key) key.pk = { S: String(key.pk?.S).replace(`#${from.tenant}#`, `#${to.tenant}#`) }
  return moved
}

async function openThread(
  engines: Engines,
  { scope, threadId, token = 'bench-owner' }: Pick<Sample, 'scope' | 'threadId' | 'token'>,
): Promise<{ store: CheckpointStore; lease: SandboxCheckpointWriterLease }> {
  const store = createCheckpointStore({ ...engines, scope, now: () => NOW })
  return { store, lease: await store.acquireWriter(threadId, { ownerToken: token }) }
}
