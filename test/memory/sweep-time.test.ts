import { afterAll, expect } from 'vitest'
import { sweepMemory } from '../../src/memory/sweep.ts'
import { Table } from '../../src/table/table.ts'
import { check } from '../store/support/check.ts'
import { injectFaults } from '../store/support/faults.ts'
import { startEngines } from '../support/engines.ts'
import { memoryOf, RETENTION_SEC } from './support/memory.ts'

const engines = await startEngines()
afterAll(engines.stop)

check('however many tasks have expired, the sweep stops when its time is up, and a later one goes on', async () => {
  const { put, scope, clock, store } = memoryOf(engines)
  for (let n = 0; n < 3; n++) await put(`t${n}`, 1, 'summary')
  clock.now += RETENTION_SEC * 1000
  await put('live', 1)
  const table = new Table(engines.dynamodb, engines.tableName)
  const sweep = (timeIsUp: () => boolean) => sweepMemory({ ...engines, table, scope, now: () => clock.now, timeIsUp })
  using counted = injectFaults(engines.dynamodb, 'TransactWriteItems', [])
  expect(await sweep(() => true)).toMatchObject({ cleared: 0, resumeAfter: '' })
  expect(counted.seen).toBe(1)
  expect(await sweep(() => false)).toMatchObject({ cleared: 3, failures: [] })
  expect((await store.listTasks({ limit: 9 })).tasks).toMatchObject([{ taskId: 'live' }])
})
