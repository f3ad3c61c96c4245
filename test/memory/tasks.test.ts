import { afterAll, describe, expect } from 'vitest'
import { check } from '../store/support/check.ts'
import { startEngines } from '../support/engines.ts'
import { ME, memoryOf, RETENTION_SEC } from './support/memory.ts'

const engines = await startEngines()
afterAll(engines.stop)

describe('tasks', () => {
  check('are listed by their ids, page by page, with exact counts', async () => {
    const { store, put, clock } = memoryOf(engines)
    const ids = ['b', 'B', 'a.1', 'a-1', 'a', 'a_1', '0'].toSorted()
    for (const id of ids) await put(id, 3)
    await put('a', 1)
    const whole = await store.listTasks({ limit: 7 })
    expect(whole.next).toBeNull()
    expect(whole.tasks.map(({ taskId }) => taskId)).toEqual(ids)
    expect(whole.tasks.find(({ taskId }) => taskId === 'a')).toEqual({
      taskId: 'a',
      latestTurn: 3,
      turnCount: 2,
      createdBy: ME,
      createdAt: clock.now,
      updatedAt: clock.now,
      retainUntil: clock.now + RETENTION_SEC * 1000,
    })
    for (const limit of [1, 2, 6]) {
      const found: string[] = []
      let after: string | undefined
      do {
        const page = await store.listTasks({ limit, after })
        expect(page.tasks).toHaveLength(Math.min(limit, ids.length - found.length))
        found.push(...page.tasks.map(({ taskId }) => taskId))
        after = page.next ?? undefined
      } while (after !== undefined)
      expect(found).toEqual(ids)
    }
    for (const limit of [0, 1_001, 1.5]) {
      await expect(store.listTasks({ limit })).rejects.toMatchObject({ status: 400, field: 'limit' })
      await expect(store.getTask({ taskId: 'a', limit })).rejects.toMatchObject({ status: 400, field: 'limit' })
    }
  })

  check('that have expired are on no page, which is full all the same', async () => {
    const { store, put, clock } = memoryOf(engines)
    for (const id of ['a', 'c', 'e', 'g']) await put(id, 1)
    clock.now += RETENTION_SEC * 1000 - 1
    for (const id of ['b', 'd', 'f']) await put(id, 1)
    expect((await store.listTasks({ limit: 9 })).tasks).toHaveLength(7)
    clock.now += 1
    expect(await store.listTasks({ limit: 3 })).toMatchObject({
      tasks: [{ taskId: 'b' }, { taskId: 'd' }, { taskId: 'f' }],
      next: null,
    })
    expect(await store.listTasks({ limit: 2 })).toMatchObject({ tasks: [{ taskId: 'b' }, { taskId: 'd' }], next: 'd' })
  })

  check('tell their turns in ascending order, page by page, without their summaries', async () => {
    const { store, put, attach } = memoryOf(engines)
    expect(await store.getTask({ taskId: 't', limit: 1 })).toBeNull()
    for (const turn of [10, 2, 9_999, 0, 100]) await put('t', turn, 'summary', `{"turn":${turn}}`)
    const artifact = await attach('t', 10, 'a')
    const whole = await store.getTask({ taskId: 't', limit: 5 })
    expect(whole?.next).toBeNull()
    expect(whole?.turns.map(({ turn }) => turn)).toEqual([0, 2, 10, 100, 9_999])
    const { summaryMd: _, ...overview } = (await store.getTurn({ taskId: 't', turn: 10 })) ?? {}
    expect(whole?.turns[2]).toEqual({ ...overview, artifacts: [artifact] })
    expect(await store.getTask({ taskId: 't', limit: 2 })).toMatchObject({ turns: [{ turn: 0 }, { turn: 2 }], next: 2 })
    expect(await store.getTask({ taskId: 't', limit: 2, after: 2 })).toMatchObject({
      turns: [{}, { turn: 100 }],
      next: 100,
    })
    expect(await store.getTask({ taskId: 't', limit: 2, after: 100 })).toMatchObject({
      turns: [{ turn: 9_999 }],
      next: null,
    })
    expect(await store.getTask({ taskId: 't', limit: 2, after: 9_999 })).toMatchObject({ turns: [], next: null })
  })

  check('tell pages of turns that are not too large, and more than DynamoDB reads at once', async () => {
    const { store, put } = memoryOf(engines)
    const meta = `{"a":"${'x'.repeat(60_000)}"}`
    for (let turn = 0; turn < 40; turn++) await put('t', turn, '', meta)
    const all = await store.getTask({ taskId: 't', limit: 1_000 })
    expect(all?.turns).toHaveLength(40)
    expect(all?.next).toBeNull()
    const some = await store.getTask({ taskId: 't', limit: 1_000, maxBytes: 200_000 })
    expect(some?.turns).toHaveLength(3)
    expect(some?.next).toBe(2)
    expect((await store.getTask({ taskId: 't', limit: 1_000, maxBytes: 1, after: 2 }))?.turns).toHaveLength(1)
  })
})

describe('the retention of a task', () => {
  check('ends to the millisecond, and each write moves it', async () => {
    const { store, put, attach, clock, text, projectMd } = memoryOf(engines)
    await put('t', 1, 'one')
    await attach('t', 1, 'a')
    const lifetime = RETENTION_SEC * 1000
    clock.now += lifetime - 1
    // In the last millisecond: all of it is kept.
    await put('t', 2, 'two')
    clock.now += lifetime - 1
    await attach('t', 2, 'b')
    clock.now += lifetime - 1
    expect(await store.getTurn({ taskId: 't', turn: 1 })).toMatchObject({
      summaryMd: 'one',
      retainUntil: clock.now + 1,
    })
    expect(await text('t', 1, 'a')).toBe('a')
    clock.now += 1
    expect(await store.getTurn({ taskId: 't', turn: 1 })).toBeNull()
    expect(await text('t', 1, 'a')).toBeNull()
    expect(await store.getTask({ taskId: 't', limit: 1 })).toBeNull()
    expect(await store.listTasks({ limit: 1 })).toEqual({ tasks: [], next: null })
    expect(await projectMd()).toBe('# Project memory\n')
  })

  check('that has ended leaves nothing to a task of the same id', async () => {
    const { store, put, attach, clock, text, projectMd } = memoryOf(engines)
    await put('t', 1, 'old', '{"old":1}')
    await put('t', 7, 'old too')
    await attach('t', 1, 'a')
    clock.now += RETENTION_SEC * 1000
    await store.putTurn({ taskId: 't', turn: 2, meta: '{}', summary: '', by: 'key:other' })
    expect(await store.getTask({ taskId: 't', limit: 9 })).toMatchObject({
      task: { turnCount: 1, latestTurn: 2, createdBy: 'key:other', createdAt: clock.now },
      turns: [{ turn: 2 }],
    })
    expect(await store.getTurn({ taskId: 't', turn: 1 })).toBeNull()
    expect(await text('t', 1, 'a')).toBeNull()
    expect(await projectMd()).not.toContain('old')
    const record = await attach('t', 1, 'b')
    expect(await store.getTurn({ taskId: 't', turn: 1 })).toMatchObject({
      meta: '{}',
      summaryMd: '',
      artifacts: [record],
    })
  })
})
