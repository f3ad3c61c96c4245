import { createHash } from 'node:crypto'
import { afterAll, describe, expect } from 'vitest'
import { MAX_ARTIFACT_BYTES } from '../../src/limits.ts'
import { sweepMemory } from '../../src/memory/sweep.ts'
import { Table } from '../../src/table/table.ts'
import { check } from '../store/support/check.ts'
import { injectFaults, refuse } from '../store/support/faults.ts'
import { send } from '../store/support/send.ts'
import { startEngines } from '../support/engines.ts'
import { itemsOf, objectsOf } from './support/leftovers.ts'
import { ME, type Memory, memoryOf, RETENTION_SEC } from './support/memory.ts'

const engines = await startEngines()
afterAll(engines.stop)

const id = { taskId: 't', turn: 1, name: 'large.bin' }
const bytes = Buffer.from('large bytes')
const sha256 = createHash('sha256').update(bytes).digest('hex')
const announced = { ...id, sizeBytes: bytes.length, contentType: 'x/y; z=1', by: ME }
const others = { mayDelete: () => true }

/** An upload whose bytes are there. */
async function uploaded({ store }: Memory, upload: Partial<typeof announced & { sha256: string }> = {}) {
  const { uploadId, request } = await store.startUpload({ ...announced, ...upload })
  expect((await send(request, bytes)).status).toBe(200)
  return { ...id, uploadId, by: ME }
}

describe('an upload', () => {
  check('becomes the artifact when it is completed, and is answered alike each time', async () => {
    for (const known of [{ sha256 }, {}]) {
      const memory = memoryOf(engines)
      const { store, clock, text } = memory
      const request = await uploaded(memory, known)
      expect(await store.getTurn(id)).toBeNull()
      clock.now += 1
      const record = await store.completeUpload(request)
      expect(record).toEqual({
        name: id.name,
        sizeBytes: bytes.length,
        contentType: 'x/y; z=1',
        sha256,
        createdAt: clock.now,
        updatedAt: clock.now,
      })
      clock.now += 1
      expect(await store.completeUpload(request)).toEqual(record)
      expect(await store.getTurn(id)).toMatchObject({
        artifacts: [record],
        retainUntil: clock.now - 1 + RETENTION_SEC * 1000,
      })
      expect(await text('t', 1, id.name)).toBe('large bytes')
      expect(await objectsOf(engines, memory.scope)).toHaveLength(1)
    }
  })

  check('does not come back over what has replaced it', async () => {
    const memory = memoryOf(engines)
    const request = await uploaded(memory)
    const record = await memory.store.completeUpload(request)
    await memory.attach('t', 1, id.name, 'later')
    expect(await memory.store.completeUpload(request)).toEqual(record)
    expect(await memory.text('t', 1, id.name)).toBe('later')
  })

  check('whose bytes are not there is told to be incomplete, and can be completed later', async () => {
    const { store } = memoryOf(engines)
    const { uploadId, request } = await store.startUpload(announced)
    const complete = () => store.completeUpload({ ...id, uploadId, by: ME })
    await expect(complete()).rejects.toMatchObject({ status: 409, code: 'upload_incomplete' })
    await send(request, bytes)
    expect(await complete()).toMatchObject({ sha256 })
  })

  check('is completed once by many at a time', async () => {
    const memory = memoryOf(engines)
    const request = await uploaded(memory)
    const records = await Promise.all(Array.from({ length: 16 }, () => memory.store.completeUpload(request)))
    expect(new Set(records.map((record) => JSON.stringify(record))).size).toBe(1)
    expect(await memory.store.getTask({ taskId: 't', limit: 1 })).toMatchObject({ task: { turnCount: 1 } })
  })

  check('is not found for another artifact, in another project, or after 12 hours', async () => {
    const memory = memoryOf(engines)
    const request = await uploaded(memory)
    const wrong = [{ taskId: 'u' }, { turn: 2 }, { name: 'other' }, { uploadId: 'unknown' }]
    for (const part of wrong) {
      await expect(memory.store.completeUpload({ ...request, ...part })).rejects.toMatchObject({ status: 404 })
    }
    await expect(memoryOf(engines).store.completeUpload(request)).rejects.toMatchObject({ status: 404 })
    memory.clock.now += 12 * 3_600_000
    await expect(memory.store.completeUpload(request)).rejects.toMatchObject({ status: 404 })
  })

  check('outlives the task that it was begun in: it is then one of the new task', async () => {
    const memory = memoryOf(engines)
    const { store, put, text } = memory
    await put('t', 5, 'old')
    const { uploadId, request } = await store.startUpload(announced)
    {
      using _killed = injectFaults(engines.dynamodb, 'DeleteItem', [refuse(() => new Error('killed'))])
      await expect(store.deleteTask({ taskId: 't', ...others })).rejects.toThrow('killed')
    }
    await send(request, bytes)
    await store.completeUpload({ ...id, uploadId, by: ME })
    expect(await store.getTask({ taskId: 't', limit: 9 })).toMatchObject({
      task: { turnCount: 1 },
      turns: [{ turn: 1 }],
    })
    expect(await text('t', 1, id.name)).toBe('large bytes')
    // What is left of the old task does not take it along.
    const table = new Table(engines.dynamodb, engines.tableName)
    const { scope, clock } = memory
    const swept = await sweepMemory({ ...engines, table, scope, now: () => clock.now, timeIsUp: () => false })
    expect(swept).toMatchObject({ cleared: 1 })
    expect(await text('t', 1, id.name)).toBe('large bytes')
    await store.deleteTask({ taskId: 't', ...others })
    expect(await text('t', 1, id.name)).toBeNull()
  })

  check('begun before there was a task is one of the task that others have made since', async () => {
    const memory = memoryOf(engines)
    const { store, put, text } = memory
    const request = await uploaded(memory)
    await put('t', 5, 'newer')
    await store.completeUpload(request)
    expect(await store.getTask({ taskId: 't', limit: 9 })).toMatchObject({ task: { turnCount: 2, latestTurn: 5 } })
    expect(await text('t', 1, id.name)).toBe('large bytes')
  })

  check('goes with its task', async () => {
    const memory = memoryOf(engines)
    const { store, scope } = memory
    await store.completeUpload(await uploaded(memory))
    await uploaded(memory, { name: 'abandoned' })
    await store.deleteTask({ taskId: 't', ...others })
    expect(await objectsOf(engines, scope)).toEqual([])
    expect((await itemsOf(engines, scope)).filter((key) => !key.startsWith('U#'))).toEqual([])
  })

  check('is refused when what it announces breaks a rule', async () => {
    const { store } = memoryOf(engines)
    const wrong: Array<[object, object]> = [
      [{ sizeBytes: MAX_ARTIFACT_BYTES + 1 }, { status: 413, field: 'size_bytes' }],
      [{ sizeBytes: -1 }, { status: 400, field: 'size_bytes' }],
      [{ sizeBytes: 0.5 }, { status: 400, field: 'size_bytes' }],
      [{ contentType: 'a\nb' }, { status: 400, field: 'content_type' }],
      [{ sha256: 'abc' }, { status: 400, field: 'sha256' }],
      [{ name: '..' }, { status: 400, field: 'name' }],
    ]
    for (const [part, refusal] of wrong) {
      await expect(store.startUpload({ ...announced, ...part })).rejects.toMatchObject(refusal)
    }
  })
})
