import pMap from 'p-map'
import { createMemoryStore } from '../src/memory/store.ts'
import { type Engines, startEngines } from '../test/support/engines.ts'
import type { BenchResult } from './harness.ts'
import { compareDocument } from './memory-document.ts'
import { timeHandlers } from './memory-handlers.ts'
import { countRequests } from './memory-requests.ts'

const TASKS = 10_000
const LAST_TURN = 9_999
/** More than what project.md shows of it. */
const SUMMARY = `# What was done\n\n${'Added the login form and its tests. '.repeat(80)}`

/**
 * What each operation of the memory asks of DynamoDB and S3, at the first turn and at the last; what the code of the
 * functions takes; and project.md of 10,000 tasks against the bare queries of the same items.
 */
export async function memory(): Promise<BenchResult> {
  const engines = await startEngines()
  try {
    const requests = await countRequests(engines, LAST_TURN)
    const handlers = await timeHandlers(engines)
    const [few, many] = [engines.freshScope(), engines.freshScope()]
    await fill(engines, few, 10)
    await fill(engines, many, TASKS)
    const document = await compareDocument(engines, { few, many })
    return {
      rows: [...requests.rows, ...handlers.rows, ...document.rows],
      bars: [...requests.bars, ...handlers.bars, ...document.bars],
    }
  } finally {
    await engines.stop()
  }
}

async function fill(engines: Engines, scope: ReturnType<Engines['freshScope']>, tasks: number): Promise<void> {
  const store = createMemoryStore({ ...engines, scope })
  const put = (_none: unknown, index: number) =>
    store.putTurn({ taskId: `task-${index}`, turn: 1, meta: '{}', summary: SUMMARY, by: 'key:bench' })
  await pMap(Array.from({ length: tasks }), put, { concurrency: 8 })
}
