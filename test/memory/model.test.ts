import * as fc from 'fast-check'
import { afterAll, expect } from 'vitest'
import { sweepMemory } from '../../src/memory/sweep.ts'
import { Table } from '../../src/table/table.ts'
import { check } from '../store/support/check.ts'
import { send } from '../store/support/send.ts'
import { startEngines } from '../support/engines.ts'
import { itemsOf, objectsOf } from './support/leftovers.ts'
import { type Memory, memoryOf, RETENTION_SEC } from './support/memory.ts'
import { MemoryModel } from './support/model.ts'

const engines = await startEngines()
afterAll(engines.stop)

const SEED = 20_261_104
const RUNS = 40

const taskId = fc.constantFrom('a', 'a-1')
const turn = fc.constantFrom(0, 1, 9_999)
const name = fc.constantFrom('a.txt', '__proto__')
const by = fc.constantFrom('user:one', 'key:one')
const text = fc.constantFrom('', 'short', 'x'.repeat(5_000), '# é\n語')

type Operation = (memory: Memory, model: MemoryModel) => Promise<void>

const putTurn = fc.tuple(taskId, turn, fc.constantFrom('{}', '{"b":1,"a":1e400}'), text, by).map(
  ([id, number, meta, summary, who]): Operation =>
    async ({ store }, model) => {
      const answer = await store.putTurn({ taskId: id, turn: number, meta, summary, by: who })
      expect(withoutHashes(answer)).toEqual(model.putTurn(id, number, meta, summary, who))
    },
)

const putArtifact = fc.tuple(taskId, turn, name, text, by, fc.boolean()).map(
  ([id, number, file, content, who, direct]): Operation =>
    async ({ store }, model) => {
      const place = { taskId: id, turn: number, name: file }
      const bytes = Buffer.from(content)
      const contentType = `text/x-${content.length}`
      if (direct) await store.putArtifact({ ...place, bytes, contentType, by: who })
      else {
        const upload = { ...place, sizeBytes: bytes.length, contentType, by: who }
        const { uploadId, request } = await store.startUpload(upload)
        await send(request, bytes)
        await store.completeUpload({ ...place, uploadId, by: who })
      }
      model.putArtifact(id, number, file, content, contentType, who)
    },
)

const deleteTask = fc.tuple(taskId, by).map(
  ([id, who]): Operation =>
    async ({ store }, model) => {
      const deleted = store.deleteTask({ taskId: id, mayDelete: (createdBy) => createdBy === who })
      if (model.deleteTask(id, who)) await expect(deleted).rejects.toMatchObject({ status: 403 })
      else await deleted
    },
)

const passTime = fc.constantFrom(1, 1_000, (RETENTION_SEC * 1_000) / 2, RETENTION_SEC * 1_000).map(
  (ms): Operation =>
    async ({ clock }, model) => {
      clock.now += ms
      model.now += ms
    },
)

const sweep = fc.constant<Operation>(async (memory) => void (await sweepScope(memory)))

const operations = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: putTurn },
    { weight: 4, arbitrary: putArtifact },
    { weight: 1, arbitrary: deleteTask },
    { weight: 2, arbitrary: passTime },
    { weight: 1, arbitrary: sweep },
  ),
  { minLength: 5, maxLength: 30 },
)

function sweepScope({ scope, clock }: Memory) {
  const table = new Table(engines.dynamodb, engines.tableName)
  return sweepMemory({ ...engines, table, scope, now: () => clock.now, timeIsUp: () => false })
}

function withoutHashes<T extends { artifacts: object[] } | null | undefined>(record: T): T {
  return record && { ...record, artifacts: record.artifacts.map((artifact) => ({ ...artifact, sha256: undefined })) }
}

/** Everything that can be read, against what the model says. */
async function compare({ store, text: readText, projectMd }: Memory, model: MemoryModel): Promise<void> {
  expect((await store.listTasks({ limit: 100 })).tasks).toEqual(model.tasks())
  expect(await projectMd()).toBe(model.projectMd())
  for (const id of ['a', 'a-1']) {
    const page = await store.getTask({ taskId: id, limit: 100 })
    expect(page?.task ?? null).toEqual(model.task(id))
    expect(page?.turns.map((overview) => overview.turn) ?? []).toEqual(model.turns(id))
    for (const number of [0, 1, 9_999]) {
      const record = await store.getTurn({ taskId: id, turn: number })
      expect(withoutHashes(record)).toEqual(model.getTurn(id, number))
      const overview = page?.turns.find((each) => each.turn === number)
      const { summaryMd: _, ...expected } = record ?? { summaryMd: '' }
      expect(overview).toEqual(record ? expected : undefined)
      for (const { name: file, contentType, sizeBytes } of record?.artifacts ?? []) {
        const content = await readText(id, number, file)
        expect(content).toBe(model.text(id, number, file))
        expect([contentType, sizeBytes]).toEqual([`text/x-${content?.length}`, Buffer.byteLength(content ?? '')])
      }
    }
  }
}

check(
  'a store is as a model that keeps everything in one place, with whatever expires, goes and is swept in between',
  async () => {
    await fc.assert(
      fc.asyncProperty(operations, async (run) => {
        const memory = memoryOf(engines)
        const model = new MemoryModel(memory.clock.now, RETENTION_SEC * 1_000)
        for (const operation of run) await operation(memory, model)
        await compare(memory, model)
        // Once all has expired, nothing is left but what tells that there is such a scope.
        memory.clock.now += 3 * 86_400_000
        await sweepScope(memory)
        expect(await itemsOf(engines, memory.scope)).toEqual([])
        expect(await objectsOf(engines, memory.scope)).toEqual([])
      }),
      { seed: SEED, numRuns: RUNS },
    )
  },
  { timeout: 240_000 },
)
