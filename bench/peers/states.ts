import { randomUUID } from 'node:crypto'
import { CreateTableCommand } from '@aws-sdk/client-dynamodb'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import { type Engines, startEngines } from '../../test/support/engines.ts'
import { median, type Row, timed } from '../harness.ts'
import { type AnyClient, ClientMeter, costOf, type Used } from './client-meter.ts'
import { importPeer } from './installed.ts'
import { marks, type Takes } from './marks.ts'

/** Keeps the states of one agent, as a library does that the agent's process calls. */
interface StateStore {
  put(sequence: number, state: unknown): Promise<void>
  /** The newest. */
  get(): Promise<unknown>
  list(): Promise<unknown[]>
}

const SIZES = { '10 KB': 10_000, '300 KB': 300_000, '2 MB': 2_000_000 }
const STATES = 10
const ROUNDS = 5
const LANGGRAPH = '@rwai/langgraphjs-checkpoint-dynamodb'

/** States of an agent, put one after the other, the newest read, all listed: here and in LangGraph's saver. */
export async function compareStates(): Promise<Row[]> {
  const engines = await startEngines()
  try {
    const rows: Row[] = []
    const meter = new ClientMeter()
    meter.watch(engines.dynamodb, engines.s3)
    const peer = await langGraph(engines, meter)
    const ours = sandkeep(engines)
    for (const [size, bytes] of Object.entries(SIZES)) {
      const own = await measure('sandkeep store', size, bytes, meter, ours)
      const theirs = await measure('langgraph', size, bytes, meter, peer)
      rows.push(...own, ...theirs.map((row, index) => ({ ...row, ...marked(own[index], row) })))
    }
    return rows
  } finally {
    await engines.stop()
  }
}

/** A row of a peer that could do its work, marked against ours. */
function marked(own: Row | undefined, row: Row): Row {
  if (!own || row.seconds === undefined) return {}
  const takes = (of: Row): Takes => ({
    seconds: Number(of.seconds),
    bytes: Number(of.MB),
    dollars: Number(of['$ a million']),
  })
  return { 'sandkeep store is': marks(takes(own), takes(row)) }
}

type What = 'put' | 'get' | 'list'

async function measure(
  who: string,
  size: string,
  bytes: number,
  meter: ClientMeter,
  open: () => Promise<StateStore>,
): Promise<Row[]> {
  const times: Record<What, number[]> = { put: [], get: [], list: [] }
  const used: Partial<Record<What, Used>> = {}
  const note = async (what: What, work: () => Promise<unknown>) => {
    times[what].push(await timed(work))
    used[what] = meter.take()
  }
  let listed = STATES
  for (let round = 0; round < ROUNDS; round++) {
    const store = await open()
    meter.take()
    try {
      for (let sequence = 1; sequence <= STATES; sequence++) {
        const state = sampleState(bytes, sequence)
        await note('put', () => store.put(sequence, state))
      }
    } catch (error) {
      return [{ what: `put, a state of ${size}`, who, remark: `refused: ${String(error).slice(0, 70)}` }]
    }
    await note('get', () => store.get())
    await note('list', async () => {
      listed = (await store.list()).length
    })
  }
  return (['put', 'get', 'list'] as const).map((what) => ({
    ...rowOf(who, what, size, median(times[what]), used[what]),
    ...(what === 'list' && listed < STATES && { remark: `returns ${listed} of ${STATES}` }),
  }))
}

function rowOf(who: string, what: string, size: string, ms: number, used: Used | undefined): Row {
  if (!used) throw new Error('Nothing was measured.')
  return {
    what: what === 'list' ? `list, ${STATES} states of ${size}` : `${what}, a state of ${size}`,
    who,
    seconds: ms / 1_000,
    requests: used.tableRequests + used.puts + used.gets,
    MB: used.bytes / 1e6,
    '$ a million': costOf(used) * 1e6,
  }
}

function sandkeep(engines: Engines): () => Promise<StateStore> {
  return async () => {
    const store = createCheckpointStore({ ...engines, scope: engines.freshScope() })
    const writer = await store.acquireWriter('agent')
    let head: string | null = null
    return {
      async put(sequence, state) {
        const checkpoint = {
          ...{ id: `state-${sequence}`, threadId: 'agent', parentCheckpointId: head, createdAt: Date.now() },
          ...{ reason: 'automatic' as const, files: [], artifacts: [], conversation: [state] },
        }
        await store.append({ checkpoint, expectedHeadId: head, writer })
        head = checkpoint.id
      },
      async get() {
        const newest = await store.getHead('agent')
        return newest === null ? null : store.get(newest)
      },
      list: () => store.list('agent'),
    }
  }
}

/** The part of the saver's interface that is used here. */
interface Saver {
  client: AnyClient
  put(config: object, checkpoint: object, metadata: object): Promise<unknown>
  getTuple(config: object): Promise<unknown>
  list(config: object): AsyncIterable<unknown>
}

async function langGraph(engines: Engines, meter: ClientMeter): Promise<() => Promise<StateStore>> {
  const { DynamoDBSaver } = await importPeer(LANGGRAPH, '0.1.6', 'dist/cjs/index.js')
  const tables = {
    checkpointsTableName: await createTable(engines, 'thread_id', 'checkpoint_id'),
    writesTableName: await createTable(engines, 'thread_id_checkpoint_id_checkpoint_ns', 'task_id_idx'),
  }
  const { endpoint, region, credentials } = engines.dynamodb.config
  const { protocol, hostname, port } = (await endpoint?.()) ?? { protocol: '', hostname: '', port: 0 }
  const clientConfig = {
    ...{ endpoint: `${protocol}//${hostname}:${port}`, region: await region() },
    credentials: await credentials(),
  }
  const saver = new (DynamoDBSaver as new (options: object) => Saver)({ ...tables, clientConfig })
  meter.watch(saver.client)
  return async () => {
    const configurable = { thread_id: randomUUID(), checkpoint_ns: '' }
    return {
      async put(sequence, state) {
        const id = String(sequence).padStart(6, '0')
        const checkpoint = {
          ...{ v: 1, id, ts: new Date().toISOString(), channel_values: { state } },
          ...{ channel_versions: {}, versions_seen: {}, pending_sends: [] },
        }
        await saver.put({ configurable }, checkpoint, { source: 'loop', step: sequence, writes: {}, parents: {} })
      },
      get: () => saver.getTuple({ configurable }),
      list: () => Array.fromAsync(saver.list({ configurable })),
    }
  }
}

async function createTable({ dynamodb }: Engines, partitionKey: string, sortKey: string): Promise<string> {
  const TableName = `peer-${randomUUID()}`
  await dynamodb.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [partitionKey, sortKey].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      KeySchema: [
        { AttributeName: partitionKey, KeyType: 'HASH' },
        { AttributeName: sortKey, KeyType: 'RANGE' },
      ],
    }),
  )
  return TableName
}

const WORDS = 'the agent reads file and runs test of module then writes a change that passes lint error fix'.split(' ')

/** Messages of an agent, some of which came since the state before; the same for the same arguments. */
function sampleState(bytes: number, sequence: number): unknown {
  const messages: unknown[] = []
  let seed = 1
  const word = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % 5 === 0 ? seed.toString(36) : WORDS[seed % WORDS.length]
  }
  for (let size = 0; size < bytes; ) {
    const content = Array.from({ length: 40 }, word).join(' ')
    messages.push({ role: messages.length % 2 === 0 ? 'user' : 'assistant', content })
    size += content.length + 40
  }
  return { step: sequence, messages }
}
