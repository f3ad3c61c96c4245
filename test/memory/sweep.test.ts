import { afterAll, describe, expect } from 'vitest'
import { artifactObjectKey } from '../../src/blobs/object-keys.ts'
import { createMemoryContext } from '../../src/memory/store.ts'
import { sweepMemory } from '../../src/memory/sweep.ts'
import { runScopeSweep } from '../../src/sweep/run.ts'
import { Table } from '../../src/table/table.ts'
import { check } from '../store/support/check.ts'
import { injectFaults, after as meanwhile } from '../store/support/faults.ts'
import { startEngines } from '../support/engines.ts'
import { itemsOf, objectsOf } from './support/leftovers.ts'
import { type Memory, memoryOf, RETENTION_SEC } from './support/memory.ts'

const engines = await startEngines()
afterAll(engines.stop)

const DAY_MS = 86_400_000
const large = 'x'.repeat(5_000)

/** The sweep by a clock that is so much ahead of the bucket's. */
function sweep({ scope, clock }: Memory, { ahead = 0, timeIsUp = () => false, after = '' } = {}) {
  const table = new Table(engines.dynamodb, engines.tableName)
  return sweepMemory({ ...engines, table, scope, now: () => clock.now + ahead, timeIsUp, after })
}

/** An object that nothing refers to, as a write leaves it that ends before its transaction. */
async function orphan({ scope }: Memory, taskId: string, turn = 1): Promise<void> {
  const { objects } = createMemoryContext({ ...engines, scope })
  await objects.put(artifactObjectKey(scope, { taskId, turn, name: 'a', object: 'dead-1' }), Buffer.from('x'), 'x/y')
}

describe('the sweep', () => {
  check('removes all of a task that has expired, and nothing of one that has not', async () => {
    const memory = memoryOf(engines)
    const { put, attach, clock, scope, store, text } = memory
    await put('old', 1, large)
    await put('old', 2, 'summary')
    await attach('old', 1, 'a')
    clock.now += RETENTION_SEC * 1000 - 1
    await put('new', 1, large)
    await attach('new', 1, 'a')
    const kept = await store.getTurn({ taskId: 'new', turn: 1 })
    expect(await sweep(memory)).toMatchObject({ cleared: 0 })
    clock.now += 1
    expect(await sweep(memory)).toMatchObject({ cleared: 1, bytesFreed: 5_001, failures: [] })
    expect(await objectsOf(engines, scope)).toEqual([
      expect.stringMatching(/^tasks\/new\/turns\/0001\/artifacts\/.*\/a$/),
      expect.stringMatching(/^tasks\/new\/turns\/0001\/summary-/),
    ])
    expect((await itemsOf(engines, scope)).filter((key) => key.includes('old'))).toEqual([])
    expect(await store.getTurn({ taskId: 'new', turn: 1 })).toEqual(kept)
    expect(await text('new', 1, 'a')).toBe('a')
    expect(await sweep(memory)).toMatchObject({ cleared: 0, deletes: 0 })
  })

  check('spares a task that is written to in its last moment, though the sweep has seen it expired', async () => {
    const memory = memoryOf(engines)
    const { put, store, clock } = memory
    await put('t', 1, 'one')
    clock.now += RETENTION_SEC * 1000 - 1
    using faults = injectFaults(engines.dynamodb, 'TransactWriteItems', [meanwhile(() => put('t', 2, 'two'))])
    expect(await sweep(memory, { ahead: 1 })).toMatchObject({ cleared: 0 })
    expect(faults.seen).toBe(2)
    const page = await store.getTask({ taskId: 't', limit: 9 })
    expect(page).toMatchObject({ task: { turnCount: 2 }, turns: [{ turn: 1 }, { turn: 2 }] })
    // And one that is begun anew by then.
    clock.now += RETENTION_SEC * 1000
    using _faults = injectFaults(engines.dynamodb, 'TransactWriteItems', [meanwhile(() => put('t', 3, 'three'))])
    expect(await sweep(memory)).toMatchObject({ cleared: 1 })
    expect(await store.getTask({ taskId: 't', limit: 9 })).toMatchObject({ turns: [{ turn: 3 }] })
  })

  check('clears the task that another has taken the place of, and leaves that', async () => {
    const memory = memoryOf(engines)
    const { put, attach, clock, store, scope, text } = memory
    await put('t', 1, large)
    await attach('t', 1, 'old')
    await put('t', 2, 'two')
    clock.now += RETENTION_SEC * 1000
    await put('t', 1, large)
    await attach('t', 1, 'new')
    const kept = await store.getTask({ taskId: 't', limit: 9 })
    expect(await objectsOf(engines, scope)).toHaveLength(4)
    expect(await sweep(memory)).toMatchObject({ cleared: 1 })
    expect(await objectsOf(engines, scope)).toHaveLength(2)
    expect(await store.getTask({ taskId: 't', limit: 9 })).toEqual(kept)
    expect(await store.getTurn({ taskId: 't', turn: 1 })).toMatchObject({ summaryMd: large })
    expect(await text('t', 1, 'new')).toBe('new')
  })

  check('removes objects that nothing refers to once they are a day old, wherever they lie', async () => {
    const memory = memoryOf(engines, { retentionSec: 30 * 86_400 })
    const { put, attach, scope, text, store } = memory
    await put('t', 0, large)
    await put('t', 3, large)
    await put('t', 3, `${large}2`)
    await attach('t', 3, 'a', 'old')
    await attach('t', 3, 'a', 'new')
    // With items of their own.
    for (let n = 0; n < 40; n++) await attach('t', 3, `b${n}`)
    for (const taskId of ['t', 't-1', 't.1', 'unknown']) await orphan(memory, taskId, 3)
    await orphan(memory, 't', 9_999)
    expect(await objectsOf(engines, scope)).toHaveLength(50)
    expect(await sweep(memory, { ahead: DAY_MS - 60_000 })).toMatchObject({ cleared: 0 })
    expect(await sweep(memory, { ahead: DAY_MS + 60_000 })).toMatchObject({ cleared: 7, failures: [] })
    expect(await objectsOf(engines, scope)).toHaveLength(43)
    expect(await text('t', 3, 'a')).toBe('new')
    for (let n = 0; n < 40; n++) expect(await text('t', 3, `b${n}`)).toBe(`b${n}`)
    expect(await store.getTurn({ taskId: 't', turn: 0 })).toMatchObject({ summaryMd: large })
  })

  check(
    'goes on where it stopped, when its time is up',
    async () => {
      const memory = memoryOf(engines)
      for (let n = 0; n < 3; n++) await memory.put(`t${n}`, 1, large)
      for (let n = 0; n < 1_050; n++) await orphan(memory, `u${n}`)
      memory.clock.now += RETENTION_SEC * 1000 + 2 * DAY_MS
      const request = { scope: memory.scope, id: 'one', olderThanMs: DAY_MS, dryRun: false, waitMs: 0 }
      const config = { ...engines, now: () => memory.clock.now }
      let runs = 1
      let { report, rest } = await runScopeSweep(config, request, () => true)
      while (rest) {
        expect(report.state).toBe('running')
        const next = await runScopeSweep(config, JSON.parse(JSON.stringify(rest)) as typeof rest, () => true)
        report = next.report
        rest = next.rest
        runs += 1
      }
      expect(report).toMatchObject({ state: 'done', cleared: 1_053, failures: [] })
      expect(runs).toBeGreaterThan(3)
      expect(await objectsOf(engines, memory.scope)).toEqual([])
    },
    { timeout: 60_000 },
  )

  check('changes nothing in a dry run', async () => {
    const memory = memoryOf(engines)
    await memory.put('t', 1, large)
    memory.clock.now += RETENTION_SEC * 1000 + 2 * DAY_MS
    const before = await itemsOf(engines, memory.scope)
    const request = { scope: memory.scope, id: 'one', olderThanMs: 0, dryRun: true, waitMs: 0 }
    await runScopeSweep({ ...engines, now: () => memory.clock.now }, request, () => false)
    expect((await itemsOf(engines, memory.scope)).filter((key) => !key.startsWith('R#'))).toEqual(before)
    expect(await objectsOf(engines, memory.scope)).toHaveLength(1)
  })
})
