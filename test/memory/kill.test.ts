import { afterAll, describe, expect } from 'vitest'
import { sweepMemory } from '../../src/memory/sweep.ts'
import { Table } from '../../src/table/table.ts'
import { check } from '../store/support/check.ts'
import { send } from '../store/support/send.ts'
import { startEngines } from '../support/engines.ts'
import { Killed, killedAt } from '../sweep/support/actors.ts'
import { itemsOf, objectsOf } from './support/leftovers.ts'
import { ME, type Memory, memoryOf } from './support/memory.ts'

const engines = await startEngines()
afterAll(engines.stop)

const large = 'x'.repeat(5_000)
const DAY_MS = 86_400_000
const RETENTION_SEC = 30 * 86_400
const START = Date.now()

async function started(): Promise<Memory> {
  const memory = memoryOf(engines, { retentionSec: RETENTION_SEC, clock: { now: START } })
  await memory.put('t', 1, large)
  await memory.put('t', 2, 'two')
  await memory.attach('t', 1, 'a', 'old')
  return memory
}

/** All that readers can see, without the names of objects. */
async function seen({ store, projectMd, text }: Memory) {
  const page = await store.getTask({ taskId: 't', limit: 100 })
  const turns = await Promise.all((page?.turns ?? []).map(({ turn }) => store.getTurn({ taskId: 't', turn })))
  const texts = turns.flatMap((turn) => (turn?.artifacts ?? []).map(({ name }) => text('t', turn?.turn ?? 0, name)))
  return { task: page?.task, turns, texts: await Promise.all(texts), document: await projectMd() }
}

/** A sweep a day later, by which what no write under way can need any more is gone. */
async function sweepLater(memory: Memory, clients: Pick<typeof engines, 'dynamodb' | 's3'> = engines): Promise<void> {
  const table = new Table(clients.dynamodb, engines.tableName)
  const now = () => memory.clock.now + DAY_MS + 60_000
  const swept = await sweepMemory({ ...engines, ...clients, table, scope: memory.scope, now, timeIsUp: () => false })
  expect(swept.failures).toEqual([])
}

const writes: Array<[what: string, write: (memory: Memory) => Promise<unknown>]> = [
  ['a turn', ({ put }) => put('t', 3, `${large}3`)],
  ['a turn again', ({ put }) => put('t', 1, `${large}1`)],
  ['an emptied summary', ({ put }) => put('t', 2, '')],
  ['an artifact', ({ attach }) => attach('t', 3, 'b')],
  ['an artifact again', ({ attach }) => attach('t', 1, 'a', 'new')],
  ['a delete', ({ store }) => store.deleteTask({ taskId: 't', mayDelete: () => true })],
  [
    'an upload',
    async ({ store }) => {
      const id = { taskId: 't', turn: 1, name: 'c', by: ME }
      const { uploadId, request } = await store.startUpload({ ...id, sizeBytes: 1, contentType: 'x/y' })
      await send(request, Buffer.from('x'))
      await store.completeUpload({ ...id, uploadId })
    },
  ],
]

for (const late of [false, true]) {
  describe(`killed at a request ${late ? 'after it had its effect' : 'before it was sent'}`, () => {
    for (const [what, write] of writes) {
      check(
        `${what} is done whole or not at all, and leaves nothing behind (${late ? 'late' : 'early'})`,
        async () => {
          const calm = await started()
          const before = await seen(calm)
          await write(calm)
          const done = await seen(calm)
          await sweepLater(calm)
          const objects = (await objectsOf(engines, calm.scope)).length
          const items = (await itemsOf(engines, calm.scope)).length
          for (let n = 1; ; n++) {
            const memory = await started()
            const { clients, seen: requests } = killedAt(engines, n, late)
            const dying = memoryOf({ ...engines, ...clients }, { ...memory, retentionSec: RETENTION_SEC })
            const outcome = await write(dying).catch((error: unknown) => error)
            const after = await seen(memory)
            if (requests() < n) {
              expect(outcome).not.toBeInstanceOf(Error)
              expect(after).toEqual(done)
              expect(n).toBeGreaterThan(2)
              break
            }
            expect(outcome).toBeInstanceOf(Killed)
            expect([before, done]).toContainEqual(after)
            // Whoever tries again gets what would have been, though perhaps at another time.
            await write(memory)
            expect(await seen(memory)).toEqual(done)
            await sweepLater(memory)
            expect(await seen(memory)).toEqual(done)
            expect(await objectsOf(engines, memory.scope)).toHaveLength(objects)
            const uploads = (await itemsOf(engines, memory.scope)).filter((key) => key.startsWith('U#'))
            expect((await itemsOf(engines, memory.scope)).length - uploads.length).toBe(
              items - Number(what === 'an upload'),
            )
          }
        },
        { timeout: 60_000 },
      )
    }

    check(
      `a sweep is finished by the next one (${late ? 'late' : 'early'})`,
      async () => {
        for (let n = 1; ; n++) {
          const memory = memoryOf(engines, { retentionSec: RETENTION_SEC, clock: { now: START } })
          for (const taskId of ['expired', 'deleted']) {
            await memory.put(taskId, 1, large)
            await memory.attach(taskId, 1, 'a')
          }
          const { clients: dying } = killedAt(engines, 4, true)
          const deleting = memoryOf({ ...engines, ...dying }, { ...memory, retentionSec: RETENTION_SEC })
          await expect(deleting.store.deleteTask({ taskId: 'deleted', mayDelete: () => true })).rejects.toThrow(Killed)
          memory.clock.now += RETENTION_SEC * 1_000
          await memory.put('t', 1, large)
          await memory.put('t', 1, `${large}again`)
          const live = await seen(memory)
          const { clients, seen: requests } = killedAt(engines, n, late)
          const outcome = await sweepLater(memory, clients).catch((error: unknown) => error)
          expect(await seen(memory)).toEqual(live)
          if (requests() < n) {
            expect(outcome).toBeUndefined()
            break
          }
          expect(outcome).toBeInstanceOf(Killed)
          await sweepLater(memory)
          expect(await seen(memory)).toEqual(live)
          expect(await objectsOf(engines, memory.scope)).toHaveLength(1)
          expect(await itemsOf(engines, memory.scope)).toHaveLength(3)
        }
      },
      { timeout: 60_000 },
    )
  })
}
