import { afterAll, describe, expect } from 'vitest'
import { sweepMemory } from '../../src/memory/sweep.ts'
import { taskKey, turnKey } from '../../src/table/keys.ts'
import { Table } from '../../src/table/table.ts'
import { check } from '../store/support/check.ts'
import { injectFaults, after as meanwhile, refuse } from '../store/support/faults.ts'
import { startEngines } from '../support/engines.ts'
import { itemsOf, objectsOf } from './support/leftovers.ts'
import { ME, type Memory, memoryOf } from './support/memory.ts'
import { putItems } from './support/put-items.ts'

const engines = await startEngines()
afterAll(engines.stop)

const mayDelete = () => true
const large = 'x'.repeat(5_000)

async function itemsOfTasks({ scope }: Memory): Promise<string[]> {
  return itemsOf(engines, scope)
}

describe('a delete', () => {
  check('removes every turn, artifact and entry of the task, and nothing of another', async () => {
    const memory = memoryOf(engines)
    const { put, attach, store, text, projectMd, scope } = memory
    for (const taskId of ['t', 't-1', 't.1']) {
      await put(taskId, 1, large)
      for (let n = 0; n < 40; n++) await attach(taskId, 2, `a${n}`)
      await attach(taskId, 2, 'a0', 'replaced')
    }
    await store.deleteTask({ taskId: 't', mayDelete })
    expect(await store.getTurn({ taskId: 't', turn: 1 })).toBeNull()
    expect(await text('t', 2, 'a0')).toBeNull()
    expect(await store.getTask({ taskId: 't', limit: 1 })).toBeNull()
    expect((await store.listTasks({ limit: 9 })).tasks.map(({ taskId }) => taskId)).toEqual(['t-1', 't.1'])
    expect(await projectMd()).not.toContain('## t\n')
    expect((await itemsOfTasks(memory)).filter((key) => /[ #]t( |#|$)/.test(key))).toEqual([])
    expect((await objectsOf(engines, scope)).filter((key) => key.startsWith('tasks/t/'))).toEqual([])
    expect(await text('t-1', 2, 'a39')).toBe('a39')
    for (const taskId of ['t-1', 't.1', 't', 'never']) await store.deleteTask({ taskId, mayDelete })
    expect(await itemsOfTasks(memory)).toEqual([])
    expect(await objectsOf(engines, scope)).toEqual([])
  })

  check('asks who made the task, and refuses without a change', async () => {
    const { put, store } = memoryOf(engines)
    await put('t', 1)
    await store.putTurn({ taskId: 't', turn: 2, meta: '{}', summary: '', by: 'user:other' })
    const asked: string[] = []
    const refuses = (createdBy: string) => asked.push(createdBy) === 0
    await expect(store.deleteTask({ taskId: 't', mayDelete: refuses })).rejects.toMatchObject({ status: 403 })
    expect(asked).toEqual([ME])
    expect(await store.getTask({ taskId: 't', limit: 9 })).toMatchObject({ turns: [{}, {}] })
    // Who is told nothing of a task that is gone.
    await store.deleteTask({ taskId: 'gone', mayDelete: refuses })
    await expect(store.deleteTask({ taskId: '../x', mayDelete })).rejects.toMatchObject({ field: 'task_id' })
  })

  check(
    'of a task of 2,000 turns, and of what a killed one has left',
    async () => {
      const memory = memoryOf(engines)
      const { put, store, scope } = memory
      await fill(memory, 2_000)
      expect((await store.getTask({ taskId: 't', limit: 1 }))?.task.turnCount).toBe(2_000)
      {
        const killed = Array.from({ length: 2_000 }, (_, n) =>
          n < 700 ? (send: () => Promise<unknown>) => send() : refuse(() => new Error('killed')),
        )
        using _faults = injectFaults(engines.dynamodb, 'DeleteItem', killed)
        await expect(store.deleteTask({ taskId: 't', mayDelete })).rejects.toThrow('killed')
      }
      expect(await store.getTask({ taskId: 't', limit: 1 })).toBeNull()
      const left = (await itemsOfTasks(memory)).length
      expect(left).toBeGreaterThan(1_000)
      // A task of the same id begins anew beside what is left.
      await put('t', 7, 'new')
      await store.deleteTask({ taskId: 'other', mayDelete })
      expect(await itemsOfTasks(memory)).toHaveLength(left + 3)
      const table = new Table(engines.dynamodb, engines.tableName)
      await sweepMemory({ ...engines, table, scope, now: () => memory.clock.now, timeIsUp: () => false })
      expect(await store.getTask({ taskId: 't', limit: 9 })).toMatchObject({
        task: { turnCount: 1 },
        turns: [{ turn: 7 }],
      })
      await store.deleteTask({ taskId: 't', mayDelete })
      expect(await itemsOfTasks(memory)).toEqual([])
    },
    { timeout: 120_000 },
  )

  check('again finishes what a killed one has left', async () => {
    const memory = memoryOf(engines)
    const { attach, put, store, scope } = memory
    for (let turn = 0; turn < 5; turn++) {
      await put('t', turn, large)
      await attach('t', turn, 'a')
    }
    {
      using _faults = injectFaults(engines.s3, 'DeleteObjects', [refuse(() => new Error('killed'))])
      await expect(store.deleteTask({ taskId: 't', mayDelete })).rejects.toThrow('killed')
    }
    expect(await objectsOf(engines, scope)).toHaveLength(10)
    // Nobody is asked: there is no task.
    await store.deleteTask({ taskId: 't', mayDelete: () => false })
    expect(await objectsOf(engines, scope)).toEqual([])
    expect(await itemsOfTasks(memory)).toEqual([])
  })

  check(
    'does not remove what a writer adds meanwhile',
    async () => {
      const memory = memoryOf(engines)
      const { attach, put, store, text } = memory
      for (let round = 0; round < 5; round++) {
        for (let turn = 0; turn < 10; turn++) {
          await put('t', turn, large)
          await attach('t', turn, 'a', 'old')
        }
        let ended = false
        const added: number[] = []
        const write = async () => {
          for (let turn = 0; !ended || added.length < 3; turn = (turn + 1) % 10) {
            await put('t', turn, `new ${large}`)
            await attach('t', turn, 'b', 'new')
            if (ended) added.push(turn)
          }
        }
        const remove = async () => {
          await store.deleteTask({ taskId: 't', mayDelete })
          ended = true
        }
        await Promise.all([write(), remove()])
        const page = await store.getTask({ taskId: 't', limit: 100 })
        expect(page?.task.turnCount).toBe(page?.turns.length)
        expect(page?.turns.map(({ turn }) => turn)).toEqual(expect.arrayContaining(added))
        for (const { turn, artifacts } of page?.turns ?? []) {
          expect(artifacts.map(({ name }) => name)).not.toContain('a')
          for (const { name } of artifacts) expect(await text('t', turn, name)).toBe('new')
          expect((await store.getTurn({ taskId: 't', turn }))?.summaryMd).toBeOneOf(['', `new ${large}`])
        }
        await store.deleteTask({ taskId: 't', mayDelete })
        expect(await itemsOfTasks(memory)).toEqual([])
      }
    },
    { timeout: 60_000 },
  )

  check('spares a turn that is written anew just before its old item would go', async () => {
    const memory = memoryOf(engines)
    const { put, attach, store, text } = memory
    await put('t', 1, 'old')
    await attach('t', 1, 'a', 'old')
    const rewrite = async () => {
      await attach('t', 1, 'a', 'new')
      await put('t', 1, 'new')
    }
    using faults = injectFaults(engines.dynamodb, 'DeleteItem', [meanwhile(rewrite)])
    await store.deleteTask({ taskId: 't', mayDelete })
    expect(faults.seen).toBeGreaterThan(2)
    expect(await store.getTurn({ taskId: 't', turn: 1 })).toMatchObject({
      summaryMd: 'new',
      artifacts: [{ name: 'a' }],
    })
    expect(await text('t', 1, 'a')).toBe('new')
  })

  check('tells of objects that S3 does not delete with the next sweep, which tries again', async () => {
    const memory = memoryOf(engines)
    const { attach, store, scope, clock } = memory
    await attach('t', 1, 'a')
    const answer = { Errors: [{ Key: 'k', Code: 'AccessDenied', Message: 'injected' }], $metadata: {} }
    using _faults = injectFaults(
      engines.s3,
      'DeleteObjects',
      [1, 2].map(() => async () => ({ output: answer, response: {} })),
    )
    await store.deleteTask({ taskId: 't', mayDelete })
    expect(await objectsOf(engines, scope)).toHaveLength(1)
    const table = new Table(engines.dynamodb, engines.tableName)
    const sweep = () => sweepMemory({ ...engines, table, scope, now: () => clock.now, timeIsUp: () => false })
    expect(await sweep()).toMatchObject({ cleared: 0, failures: [{ key: 'k', reason: 'AccessDenied: injected' }] })
    expect(await sweep()).toMatchObject({ cleared: 1, failures: [] })
    expect(await objectsOf(engines, scope)).toEqual([])
  })
})

/** A task t of so many turns: copies of one that was written. */
async function fill({ put, scope }: Memory, turns: number): Promise<void> {
  await put('t', 0)
  const table = new Table(engines.dynamodb, engines.tableName)
  const first = await table.get(turnKey(scope, 't', 0))
  await putItems(
    engines,
    Array.from({ length: turns - 1 }, (_, n) => ({ ...first, ...turnKey(scope, 't', n + 1) })),
  )
  await table.update(taskKey(scope, 't'), {
    expression: 'SET #count = :count',
    condition: 'attribute_exists(pk)',
    names: { '#count': 'turnCount' },
    values: { ':count': turns },
  })
}
