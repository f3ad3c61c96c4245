import { afterAll, describe, expect } from 'vitest'
import { check } from '../store/support/check.ts'
import { injectFaults, after as meanwhile } from '../store/support/faults.ts'
import { startEngines } from '../support/engines.ts'
import { ME, memoryOf } from './support/memory.ts'

const engines = await startEngines()
afterAll(engines.stop)
const { dynamodb } = engines

describe('a read that others write into', () => {
  check('tells all artifacts of a turn, or that it is gone', async () => {
    const { attach, store } = memoryOf(engines)
    for (let n = 0; n < 34; n++) await attach('t', 1, `a${n}`)
    const remove = () => store.deleteTask({ taskId: 't', mayDelete: () => true })
    using _faults = injectFaults(dynamodb, 'Query', [meanwhile(remove)])
    expect(await store.getTurn({ taskId: 't', turn: 1 })).toBeNull()
  })
})

describe('a write that is overtaken by a later one', () => {
  const bytes = Buffer.from('x')
  const writes: Array<[what: string, write: (memory: ReturnType<typeof memoryOf>) => Promise<unknown>]> = [
    ['a new turn', ({ put }) => put('t', 3, 'three')],
    ['a turn again', ({ put }) => put('t', 1, 'one again')],
    ['an emptied summary', ({ put }) => put('t', 1)],
    ['a new artifact', ({ attach }) => attach('t', 1, 'a')],
    ['an artifact of a new turn', ({ attach }) => attach('t', 9, 'a')],
    [
      'an upload',
      async ({ store }) => {
        const artifact = { taskId: 't', turn: 1, name: 'u', by: ME }
        const upload = { ...artifact, sizeBytes: bytes.length, contentType: 'x/y' }
        const { uploadId, request } = await store.startUpload(upload)
        await fetch(request.url, { method: request.method, headers: request.headers, body: bytes })
        await store.completeUpload({ ...artifact, uploadId })
      },
    ],
  ]
  for (const [what, write] of writes) {
    check(`takes back nothing of what that promised: ${what}`, async () => {
      const memory = memoryOf(engines)
      const { put, clock, store } = memory
      await put('t', 1, 'one')
      const later = async () => {
        clock.now += 5_000
        return put('t', 2, 'two')
      }
      using _faults = injectFaults(dynamodb, 'TransactWriteItems', [meanwhile(later)])
      await write(memory)
      const page = await store.getTask({ taskId: 't', limit: 9 })
      const promised = await store.getTurn({ taskId: 't', turn: 2 })
      expect(page?.task).toMatchObject({ updatedAt: clock.now, retainUntil: promised?.retainUntil })
      expect(promised?.retainUntil).toBe(clock.now + 1_000_000)
    })
  }

  check('tells until when the task is kept', async () => {
    const { put, clock } = memoryOf(engines)
    await put('t', 1, 'one')
    const later = async () => {
      clock.now += 5_000
      await put('t', 2, 'two')
    }
    using _faults = injectFaults(dynamodb, 'TransactWriteItems', [meanwhile(later)])
    expect(await put('t', 3, 'three')).toMatchObject({
      updatedAt: clock.now - 5_000,
      retainUntil: clock.now + 1_000_000,
    })
  })
})

describe('a page of turns', () => {
  check('takes few requests, however many artifacts a turn has', async () => {
    const { put, attach, store } = memoryOf(engines)
    await attach('t', 1, 'first')
    await Promise.all(Array.from({ length: 60 }, (_, n) => attach('t', 1, `a${n}`)))
    await put('t', 2)
    using counted = injectFaults(dynamodb, 'Query', [])
    const page = await store.getTask({ taskId: 't', limit: 1 })
    expect(page?.turns[0]?.artifacts).toHaveLength(61)
    expect(counted.seen).toBeLessThan(8)
  })
})
