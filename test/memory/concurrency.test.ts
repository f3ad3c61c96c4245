import { afterAll, describe, expect } from 'vitest'
import { check } from '../store/support/check.ts'
import { seededRandom } from '../store/support/stores.ts'
import { startEngines } from '../support/engines.ts'
import { contendedClient } from './support/contention.ts'
import { itemsOf } from './support/leftovers.ts'
import { type Memory, memoryOf } from './support/memory.ts'

const engines = await startEngines()
afterAll(engines.stop)

const WRITERS = 50
const times = <T>(count: number, work: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)))

/** The task, after it was found to be what its turns say it is. */
async function consistentTask({ store, projectMd }: Memory, taskId = 't') {
  const page = await store.getTask({ taskId, limit: 1_000 })
  if (!page) throw new Error('The task must be there.')
  const { task, turns } = page
  expect(task.turnCount).toBe(turns.length)
  expect(task.latestTurn).toBe(turns.at(-1)?.turn)
  const summaries = await Promise.all(turns.map(({ turn }) => store.getTurn({ taskId, turn })))
  const newest = summaries.findLast((turn) => turn?.summaryMd !== '')
  const document = await projectMd()
  const section = document.slice(document.indexOf(`## ${taskId}\n`)).split('\n\n## ')[0] ?? ''
  expect(section.split('\n').slice(6).join('\n').trim()).toBe(newest?.summaryMd ?? '')
  return page
}

describe(`of ${WRITERS} writers at a time`, () => {
  check(
    'each adds its turn: none is lost, and the count is exact',
    async () => {
      const memory = memoryOf(engines)
      await times(WRITERS, (n) => memory.put('t', (n * 7) % WRITERS, `summary ${n}`))
      const { task } = await consistentTask(memory)
      expect(task).toMatchObject({ turnCount: WRITERS, latestTurn: WRITERS - 1 })
    },
    { timeout: 60_000 },
  )

  check(
    'all make one turn',
    async () => {
      const memory = memoryOf(engines)
      const { put, attach } = memory
      await times(WRITERS, (n): Promise<unknown> => (n % 2 ? put('t', 1, `summary ${n}`) : attach('t', 1, `a${n}`)))
      const { task, turns } = await consistentTask(memory)
      expect(task.turnCount).toBe(1)
      expect(turns[0]?.artifacts).toHaveLength(WRITERS / 2)
    },
    { timeout: 60_000 },
  )

  check(
    'each attaches its artifact to one turn, past those that its index holds',
    async () => {
      const memory = memoryOf(engines)
      await times(WRITERS, (n) => memory.attach('t', 1, `a${n}`))
      const { turns } = await consistentTask(memory)
      expect(turns[0]?.artifacts).toHaveLength(WRITERS)
      for (let n = 0; n < WRITERS; n++) expect(await memory.text('t', 1, `a${n}`)).toBe(`a${n}`)
    },
    { timeout: 60_000 },
  )

  check(
    'all replace one artifact, which never has the type of other bytes',
    async () => {
      const memory = memoryOf(engines)
      const { attach, store } = memory
      const { createdAt } = await attach('t', 1, 'a', '')
      memory.clock.now += 1
      let ended = false
      const read = async () => {
        while (!ended) {
          const found = await store.findArtifact({ taskId: 't', turn: 1, name: 'a' })
          const bytes = found && (await store.readArtifact(found))
          expect(found?.contentType).toBe(`text/x-${bytes?.length}`)
          expect(found?.sizeBytes).toBe(bytes?.length)
          expect(found?.createdAt).toBe(createdAt)
        }
      }
      const write = async () => {
        await times(WRITERS, (n) => attach('t', 1, 'a', 'x'.repeat(n)))
        ended = true
      }
      await Promise.all([write(), read()])
      expect((await consistentTask(memory)).turns[0]?.artifacts).toHaveLength(1)
    },
    { timeout: 60_000 },
  )

  check(
    'some write and some empty summaries: the newest that there is stays the one that is shown',
    async () => {
      const memory = memoryOf(engines)
      const random = seededRandom(20_261_104)
      for (let round = 0; round < 5; round++) {
        await times(WRITERS, (n) => memory.put('t', Math.floor(random() * 6), n % 2 ? `summary ${round} ${n}` : ''))
        await consistentTask(memory)
      }
    },
    { timeout: 120_000 },
  )

  check(
    'all begin anew a task that has expired: it is one new task',
    async () => {
      const memory = memoryOf(engines, { retentionSec: 1 })
      await memory.put('t', 99, 'old')
      memory.clock.now += 1_000
      await times(WRITERS, (n) => memory.put('t', n, `summary ${n}`))
      const { task } = await consistentTask(memory)
      expect(task).toMatchObject({ turnCount: WRITERS, createdAt: memory.clock.now })
      const dead = (await itemsOf(engines, memory.scope)).filter((key) => key.startsWith('D#'))
      expect(dead).toHaveLength(1)
    },
    { timeout: 60_000 },
  )

  check(
    'each makes its own task',
    async () => {
      const memory = memoryOf(engines)
      await times(WRITERS, (n) => memory.put(`t${n}`, 1, `summary ${n}`))
      const { tasks } = await memory.store.listTasks({ limit: 1_000 })
      expect(tasks).toHaveLength(WRITERS)
      for (let n = 0; n < WRITERS; n += 10) await consistentTask(memory, `t${n}`)
    },
    { timeout: 60_000 },
  )

  check(
    'all get through a table that refuses transactions which meet',
    async () => {
      const { dynamodb, conflicts } = contendedClient(engines)
      const memory = memoryOf({ ...engines, dynamodb })
      await times(WRITERS, (n) => memory.put('t', n, `summary ${n}`))
      await times(WRITERS, (n) => memory.attach('t', 1, `a${n}`))
      await times(WRITERS, (n) => memory.put(`t${n}`, 1))
      expect(conflicts()).toBeGreaterThan(WRITERS)
      const { task } = await consistentTask(memory)
      expect(task.turnCount).toBe(WRITERS)
    },
    { timeout: 60_000 },
  )
})
