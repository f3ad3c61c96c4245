import { afterAll, describe, expect } from 'vitest'
import { MAX_META_BYTES, MAX_SUMMARY_BYTES } from '../../src/limits.ts'
import type { TurnId } from '../../src/memory/types.ts'
import { check } from '../store/support/check.ts'
import { startEngines } from '../support/engines.ts'
import { objectsOf } from './support/leftovers.ts'
import { ME, memoryOf, RETENTION_SEC } from './support/memory.ts'

const engines = await startEngines()
afterAll(engines.stop)

const id = { taskId: 'task-42', turn: 1 }

describe('a turn', () => {
  check('comes back as it was written, and with the times of its task', async () => {
    const { store, clock, put } = memoryOf(engines)
    expect(await store.getTurn(id)).toBeNull()
    const written = await put('task-42', 1, '## Turn 1\nDone.', '{"b":1e400,"a":-0,"2":"\\u00e9"}')
    expect(written).toEqual({
      ...id,
      meta: '{"b":1e400,"a":-0,"2":"\\u00e9"}',
      summaryMd: '## Turn 1\nDone.',
      artifacts: [],
      createdAt: clock.now,
      updatedAt: clock.now,
      retainUntil: clock.now + RETENTION_SEC * 1000,
    })
    expect(await store.getTurn(id)).toEqual(written)
  })

  check('is replaced by the next write, all but its artifacts and when it was made', async () => {
    const { store, clock, put, attach } = memoryOf(engines)
    const first = await put('task-42', 1, 'one', '{"a":1}')
    const artifact = await attach('task-42', 1, 'diff.patch')
    clock.now += 5
    const second = await put('task-42', 1)
    expect(second).toEqual({
      ...first,
      meta: '{}',
      summaryMd: '',
      artifacts: [artifact],
      updatedAt: clock.now,
      retainUntil: first.retainUntil + 5,
    })
    expect(await store.getTurn(id)).toEqual(second)
    expect((await store.getTask({ taskId: 'task-42', limit: 1 }))?.task).toMatchObject({ turnCount: 1, latestTurn: 1 })
  })

  check('may be the first and the last that can be', async () => {
    const { store, put } = memoryOf(engines)
    await put('t', 9_999)
    await put('t', 0)
    expect(await store.getTask({ taskId: 't', limit: 2 })).toMatchObject({
      task: { turnCount: 2, latestTurn: 9_999 },
      turns: [{ turn: 0 }, { turn: 9_999 }],
      next: null,
    })
  })

  check('has the largest meta and summary, of any characters', async () => {
    const { store, put, scope } = memoryOf(engines)
    const meta = `{"a":"${'é'.repeat((MAX_META_BYTES - 8) / 2)}"}`
    for (const unit of ['x', '"', '\\', '\0', '語', '😀']) {
      const summary = unit.repeat(Math.floor(MAX_SUMMARY_BYTES / Buffer.byteLength(unit)))
      const written = await put('task-42', 1, summary, meta)
      expect(written.summaryMd).toBe(summary)
      expect(await store.getTurn(id)).toEqual(written)
    }
    expect((await objectsOf(engines, scope))[0]).toMatch(/^tasks\/task-42\/turns\/0001\/summary-[0-9a-f-]+\.md$/)
  })

  check('of one byte too many is refused, and changes nothing', async () => {
    const { store, put, scope } = memoryOf(engines)
    const written = await put('task-42', 1, 'kept')
    const meta = `{"a":"${'x'.repeat(MAX_META_BYTES - 7)}"}`
    await expect(put('task-42', 1, '', meta)).rejects.toMatchObject({ status: 413, field: 'meta' })
    const summary = `${'語'.repeat((MAX_SUMMARY_BYTES - 1) / 3)}xx`
    await expect(put('task-42', 1, summary)).rejects.toMatchObject({ status: 413, field: 'summary_md' })
    await expect(put('task-42', 1, 'half \ud83d')).rejects.toMatchObject({ status: 400, field: 'summary_md' })
    expect(await store.getTurn(id)).toEqual(written)
    expect(await objectsOf(engines, scope)).toEqual([])
  })

  check('has its summary in the item or in an object, on both sides of the border', async () => {
    const { store, put, scope } = memoryOf(engines)
    // The object of the large one is left to the sweep.
    const sizes: Array<[bytes: number, objects: number]> = [
      [4_000, 0],
      [4_001, 1],
      [3_999, 1],
    ]
    for (const [bytes, objects] of sizes) {
      await put('task-42', 1, 'x'.repeat(bytes))
      expect((await store.getTurn(id))?.summaryMd).toHaveLength(bytes)
      expect(await objectsOf(engines, scope)).toHaveLength(objects)
    }
  })

  check('needs a task id and a number that keep the rules', async () => {
    const { store } = memoryOf(engines)
    const wrongIds = ['', '.a', '-a', '_a', 'a/b', 'a b', 'é', 'a\n', 'x'.repeat(129)]
    const wrongTurns = [-1, 10_000, 1.5, Number.NaN, Number.POSITIVE_INFINITY]
    const wrong: Array<[field: string, id: TurnId]> = [
      ...wrongIds.map((taskId): [string, TurnId] => ['task_id', { taskId, turn: 1 }]),
      ...wrongTurns.map((turn): [string, TurnId] => ['turn', { taskId: 't', turn }]),
    ]
    for (const [field, each] of wrong) {
      const refusal = { status: 400, field }
      await expect(store.putTurn({ ...each, summary: '', meta: '{}', by: ME })).rejects.toMatchObject(refusal)
      await expect(store.getTurn(each)).rejects.toMatchObject(refusal)
      await expect(store.findArtifact({ ...each, name: 'a' })).rejects.toMatchObject(refusal)
    }
    for (const taskId of ['a', 'Z._-9', '0', 'constructor', 'x'.repeat(128)]) {
      await store.putTurn({ taskId, turn: 1, summary: '', meta: '{}', by: ME })
    }
  })

  check('is of its project alone', async () => {
    const one = memoryOf(engines)
    const other = memoryOf(engines)
    await one.put('task-42', 1, 'one')
    expect(await other.store.getTurn(id)).toBeNull()
    await other.put('task-42', 1, 'other')
    await other.store.deleteTask({ taskId: 'task-42', mayDelete: () => true })
    expect(await one.store.getTurn(id)).toMatchObject({ summaryMd: 'one' })
  })
})
