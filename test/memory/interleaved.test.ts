import { afterAll, describe, expect } from 'vitest'
import { projectMd } from '../../src/memory/project-md.ts'
import { createMemoryContext } from '../../src/memory/store.ts'
import { check } from '../store/support/check.ts'
import { type Fault, injectFaults, after as meanwhile } from '../store/support/faults.ts'
import { startEngines } from '../support/engines.ts'
import { ME, memoryOf } from './support/memory.ts'

const engines = await startEngines()
afterAll(engines.stop)
const { dynamodb } = engines
const pass: Fault = (send) => send()

describe('a read that others write into', () => {
  check('tells all artifacts of a turn, or that it is gone', async () => {
    const { attach, store } = memoryOf(engines)
    for (let n = 0; n < 34; n++) await attach('t', 1, `a${n}`)
    const remove = () => store.deleteTask({ taskId: 't', mayDelete: () => true })
    using _faults = injectFaults(dynamodb, 'Query', [meanwhile(remove)])
    expect(await store.getTurn({ taskId: 't', turn: 1 })).toBeNull()
  })
})

describe('project.md shows a task as it is before or after a write that comes between', () => {
  const writes: Array<[what: string, write: (memory: ReturnType<typeof memoryOf>) => Promise<unknown>, after: string]> =
    [
      ['a new turn', ({ put }) => put('t', 2, 'two'), 'turn 2 of 2: two'],
      ['the turn again', ({ put }) => put('t', 1, 'one again'), 'turn 1 of 1: one again'],
      ['an emptied summary', ({ put }) => put('t', 1), 'turn 1 of 2: zero'],
      [
        'a delete',
        async ({ store, put }) => {
          await store.deleteTask({ taskId: 't', mayDelete: () => true })
          await put('t', 7, 'seven')
        },
        'turn 7 of 1: seven',
      ],
    ]
  const shown = (document: string) =>
    document.replace(/^.*Latest turn: (\d+)\n- Turns: (\d+)\n- Updated: .*\n\n(.*)\n$/s, 'turn $1 of $2: $3')
  for (const [what, write, after] of writes) {
    for (const maxHeld of [1_000_000, 0]) {
      check(`${what}, ${maxHeld === 0 ? 'reading excerpts one by one' : 'reading all excerpts'}`, async () => {
        const memory = memoryOf(engines)
        const { put, scope, clock } = memory
        await put('t', 1, 'one')
        if (what === 'an emptied summary') await put('t', 0, 'zero')
        const context = createMemoryContext({ ...engines, scope, now: () => clock.now })
        using _faults = injectFaults(dynamodb, maxHeld === 0 ? 'BatchGetItem' : 'Query', [
          ...(maxHeld === 0 ? [] : [pass]),
          meanwhile(() => write(memory)),
        ])
        const pieces = await Array.fromAsync(projectMd(context, maxHeld))
        expect(shown(pieces.join(''))).toBe(after)
      })
    }
  }
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
