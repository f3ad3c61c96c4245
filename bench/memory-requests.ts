import { createMemoryStore } from '../src/memory/store.ts'
import type { MemoryStore } from '../src/memory/types.ts'
import type { Engines } from '../test/support/engines.ts'
import { atMost, type BenchResult, type Row } from './harness.ts'
import { type MeteredRequest, RequestMeter } from './request-meter.ts'

const TASK = 'task-42'
const BY = 'key:bench'
const META = JSON.stringify({
  agent_id: 'claude-code',
  exit_code: 0,
  tokens: { input: 1_200, output: 340 },
  cost: 0.04,
})
const SMALL = 'Added the login form and its tests.'
const LARGE = 'Added the login form and its tests. '.repeat(4_000)

type Operation = (store: MemoryStore, turn: number) => Promise<unknown>

const operations: Readonly<Record<string, Operation>> = {
  'PUT turn, new': (store, turn) => store.putTurn({ taskId: TASK, turn, meta: META, summary: SMALL, by: BY }),
  'PUT turn, again': (store, turn) => store.putTurn({ taskId: TASK, turn, meta: META, summary: SMALL, by: BY }),
  'GET turn': (store, turn) => store.getTurn({ taskId: TASK, turn }),
  'PUT turn, 144 kB summary': (store, turn) =>
    store.putTurn({ taskId: TASK, turn, meta: META, summary: LARGE, by: BY }),
  'GET turn, 144 kB summary': (store, turn) => store.getTurn({ taskId: TASK, turn }),
  'PUT artifact': (store, turn) =>
    store.putArtifact({
      taskId: TASK,
      turn,
      name: 'a',
      bytes: new Uint8Array(1_000),
      contentType: 'text/plain',
      by: BY,
    }),
  'GET artifact': async (store, turn) => {
    const stored = await store.findArtifact({ taskId: TASK, turn, name: 'a' })
    return stored && store.readArtifact(stored)
  },
}

interface Count {
  reads: number
  writes: number
  s3: number
  units: number
}

/** Requests and write units of the operations, each at the first turn of a task and at the last. */
export async function countRequests(engines: Engines, lastTurn: number): Promise<BenchResult> {
  const store = createMemoryStore({ ...engines, scope: engines.freshScope() })
  await store.putTurn({ taskId: TASK, turn: 0, meta: META, summary: SMALL, by: BY })
  const first = await countAt(engines, store, 1)
  for (let turn = 2; turn < lastTurn; turn++) {
    await store.putTurn({ taskId: TASK, turn, meta: META, summary: SMALL, by: BY })
  }
  const last = await countAt(engines, store, lastTurn)
  const rows: Row[] = Object.keys(operations).map((operation) => {
    const [at1, atLast] = [countOf(first, operation), countOf(last, operation)]
    return {
      operation,
      'DynamoDB reads': at1.reads,
      'DynamoDB writes': at1.writes,
      'S3 requests': at1.s3,
      'write units': at1.units,
      [`write units at turn ${lastTurn}`]: atLast.units,
    }
  })
  const bars = Object.keys(operations).flatMap((operation) => {
    const [at1, atLast] = [countOf(first, operation), countOf(last, operation)]
    const isWrite = operation.startsWith('PUT')
    return [
      ...(isWrite ? [atMost(`${operation}: writes of DynamoDB`, at1.writes, 1, 'requests')] : []),
      ...(operation.startsWith('GET') ? [atMost(`${operation}: reads of DynamoDB`, at1.reads, 1, 'requests')] : []),
      atMost(`${operation}: requests to S3`, at1.s3, 1, 'requests'),
      atMost(`${operation}: all requests at turn ${lastTurn}`, total(atLast), total(at1), 'requests'),
      ...(isWrite ? [atMost(`${operation}: write units at turn ${lastTurn}`, atLast.units, at1.units, 'units')] : []),
    ]
  })
  return { rows, bars }
}

async function countAt(engines: Engines, store: MemoryStore, turn: number): Promise<Map<string, Count>> {
  const meter = new RequestMeter(engines)
  const counts = new Map<string, Count>()
  for (const [name, run] of Object.entries(operations)) {
    await run(store, turn)
    counts.set(name, sum(meter.take()))
  }
  meter.remove()
  return counts
}

function sum(requests: MeteredRequest[]): Count {
  const of = (pattern: RegExp) => requests.filter(({ command }) => pattern.test(command)).length
  return {
    reads: of(/^(?:Get|BatchGet)Item|^Query|^TransactGet/),
    writes: of(/^(?:Put|Update|Delete)Item|^TransactWrite/),
    s3: of(/Object/),
    units: requests.reduce((units, request) => units + request.units, 0),
  }
}

function countOf(counts: Map<string, Count>, operation: string): Count {
  return counts.get(operation) ?? { reads: 0, writes: 0, s3: 0, units: 0 }
}

function total({ reads, writes, s3 }: Count): number {
  return reads + writes + s3
}
