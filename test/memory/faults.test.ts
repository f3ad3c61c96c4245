import { DeleteObjectCommand } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, vi } from 'vitest'
import { memoryObjectPrefix } from '../../src/blobs/object-keys.ts'
import { sweepMemory } from '../../src/memory/sweep.ts'
import { Table } from '../../src/table/table.ts'
import { check } from '../store/support/check.ts'
import {
  cancelled,
  connectionReset,
  type Fault,
  injectFaults,
  loseAnswer,
  after as meanwhile,
  refuse,
  serviceError,
  timeout,
} from '../store/support/faults.ts'
import { send } from '../store/support/send.ts'
import { startEngines } from '../support/engines.ts'
import { itemsOf, objectsOf } from './support/leftovers.ts'
import { ME, type Memory, memoryOf } from './support/memory.ts'

vi.mock('node:timers/promises', async (original) => ({
  ...(await original<typeof import('node:timers/promises')>()),
  setTimeout: () => new Promise(setImmediate),
}))

const engines = await startEngines()
afterAll(engines.stop)
const { dynamodb, s3 } = engines

const large = 'x'.repeat(5_000)
const mayDelete = () => true
const START = Date.now()
const turn = { taskId: 't', turn: 1 }

/** Failures that pass, before a request is carried out or after. */
const passing: Array<[string, () => Fault]> = [
  ['a throttled request', () => refuse(() => serviceError('ThrottlingException', 400))],
  ['an overdrawn throughput', () => refuse(() => serviceError('ProvisionedThroughputExceededException', 400))],
  ['a 500', () => refuse(() => serviceError('InternalServerError', 500))],
  ['a slow-down', () => refuse(() => serviceError('SlowDown', 503))],
  ['a timeout', () => refuse(timeout)],
  ['an answer lost to a timeout', () => loseAnswer(timeout)],
  ['an answer lost to a reset connection', () => loseAnswer(connectionReset)],
  ['an answer lost to a 500', () => loseAnswer(() => serviceError('InternalServerError', 500))],
]
const conflicts: Array<[string, () => Fault]> = [
  ['a conflict', () => refuse(() => cancelled('TransactionConflict', 'None'))],
  ['a conflict and a failed condition', () => refuse(() => cancelled('ConditionalCheckFailed', 'TransactionConflict'))],
  ['a throttled transaction', () => refuse(() => cancelled('None', 'ThrottlingError'))],
  ['an overdrawn transaction', () => refuse(() => cancelled('ProvisionedThroughputExceeded', 'None'))],
]

/** A task that has all kinds of things. */
async function started(artifacts = 2): Promise<Memory> {
  const memory = memoryOf(engines, { clock: { now: START } })
  await memory.put('t', 1, large)
  await memory.put('t', 2, 'two')
  for (let n = 0; n < artifacts; n++) await memory.attach('t', 1, `a${n}`)
  return memory
}

async function wholeOf({ store, projectMd }: Memory) {
  const page = await store.getTask({ taskId: 't', limit: 100 })
  const turns = await Promise.all((page?.turns ?? []).map(({ turn }) => store.getTurn({ taskId: 't', turn })))
  return { task: page?.task, turns, document: await projectMd() }
}

const writes: Array<[what: string, write: (memory: Memory) => Promise<unknown>, artifacts?: number]> = [
  ['a new task', ({ put }) => put('new', 1, 'summary')],
  ['a new turn', ({ put }) => put('t', 3, 'three')],
  ['a turn again, with a large summary', ({ put }) => put('t', 2, `${large}2`)],
  ['an emptied summary', ({ put }) => put('t', 2, '')],
  ['a new artifact', ({ attach }) => attach('t', 2, 'a')],
  ['an artifact of a new turn', ({ attach }) => attach('t', 4, 'a')],
  ['an artifact again', ({ attach }) => attach('t', 1, 'a0', 'again')],
  ['an artifact past the index', ({ attach }) => attach('t', 1, 'b'), 32],
]

for (const [what, write, artifacts] of writes) {
  describe(`${what} is written as if nothing had happened`, () => {
    let calm: { answer: unknown; whole: unknown }
    beforeAll(async () => {
      const memory = await started(artifacts)
      calm = { answer: await write(memory), whole: await wholeOf(memory) }
    })

    for (const [name, fault] of [...passing, ...conflicts]) {
      check(`after ${name} (${what})`, async () => {
        const memory = await started(artifacts)
        const isConflict = conflicts.some(([other]) => other === name)
        const commands = isConflict
          ? ['TransactWriteItems']
          : ['TransactWriteItems', 'BatchGetItem', 'Query', 'PutObject']
        const injected = commands.map((command) =>
          injectFaults(command === 'PutObject' ? s3 : dynamodb, command, [fault(), fault()]),
        )
        const answer = await write(memory)
        expect(injected[0]?.left).toBe(0)
        for (const each of injected) each[Symbol.dispose]()
        expect(answer).toEqual(calm.answer)
        expect(await wholeOf(memory)).toEqual(calm.whole)
      })
    }
  })
}

for (const [name, fault] of passing) {
  describe(`reads, deletes and uploads meet ${name}`, () => {
    check(`and are answered as without it (${name})`, async () => {
      const memory = await started()
      const { store, text, projectMd, scope, clock } = memory
      const expected = await wholeOf(memory)
      // A presigned request is signed by what looks like one to the bucket.
      await store.startUpload({ ...turn, name: 'a', sizeBytes: 1, contentType: 'x/y', by: ME })
      const commands = ['TransactGetItems', 'BatchGetItem', 'GetItem', 'Query', 'DeleteItem', 'PutItem']
      const objectCommands = ['GetObject', 'HeadObject', 'ListObjectsV2', 'DeleteObjects']
      const injected = [
        ...commands.map((command) => injectFaults(dynamodb, command, [fault(), fault()])),
        ...objectCommands.map((command) => injectFaults(s3, command, [fault()])),
      ]
      expect(await wholeOf(memory)).toEqual(expected)
      expect(await text('t', 1, 'a0')).toBe('a0')
      const id = { taskId: 'u', turn: 1, name: 'a' }
      const { uploadId, request } = await store.startUpload({ ...id, sizeBytes: 1, contentType: 'x/y', by: ME })
      await send(request, Buffer.from('x'))
      {
        using _lost = injectFaults(dynamodb, 'TransactWriteItems', [fault(), fault()])
        expect(await store.completeUpload({ ...id, uploadId, by: ME })).toMatchObject({ sizeBytes: 1 })
      }
      const first = await store.findArtifact(id)
      expect(await store.completeUpload({ ...id, uploadId, by: ME })).toMatchObject({ updatedAt: first?.updatedAt })
      for (const taskId of ['t', 'u']) {
        using _lost = injectFaults(dynamodb, 'TransactWriteItems', [fault()])
        await store.deleteTask({ taskId, mayDelete })
      }
      for (const each of injected) each[Symbol.dispose]()
      expect(await projectMd()).toBe('# Project memory\n')
      const table = new Table(dynamodb, engines.tableName)
      await sweepMemory({ ...engines, table, scope, now: () => clock.now, timeIsUp: () => false })
      expect((await itemsOf(engines, scope)).filter((key) => !key.startsWith('U#'))).toEqual([])
      expect(await objectsOf(engines, scope)).toEqual([])
    })
  })
}

describe('a write whose answer was lost', () => {
  check('is not done over what others have written since', async () => {
    const memory = await started()
    const { put, attach, store, text } = memory
    const landed =
      (then: () => Promise<unknown>): Fault =>
      async (send) => {
        await send()
        await then()
        throw timeout()
      }
    {
      using _faults = injectFaults(dynamodb, 'TransactWriteItems', [landed(() => put('t', 2, 'theirs'))])
      expect(await put('t', 2, 'ours')).toMatchObject({ summaryMd: 'ours' })
    }
    expect(await store.getTurn({ taskId: 't', turn: 2 })).toMatchObject({ summaryMd: 'theirs' })
    {
      using _faults = injectFaults(dynamodb, 'TransactWriteItems', [landed(() => attach('t', 2, 'a', 'theirs'))])
      await attach('t', 2, 'a', 'ours')
    }
    expect(await text('t', 2, 'a')).toBe('theirs')
    {
      const recreate = landed(() => put('t', 5, 'new'))
      using _faults = injectFaults(dynamodb, 'TransactWriteItems', [recreate])
      await store.deleteTask({ taskId: 't', mayDelete })
    }
    expect((await store.getTask({ taskId: 't', limit: 9 }))?.turns).toMatchObject([{ turn: 5 }])
  })

  check('to a task that was deleted since does not bring it back', async () => {
    const memory = await started()
    const { put, store } = memory
    const landed: Fault = async (send) => {
      await send()
      await store.deleteTask({ taskId: 't', mayDelete })
      throw timeout()
    }
    using _faults = injectFaults(dynamodb, 'TransactWriteItems', [landed])
    await put('t', 2, 'ours')
    expect(await store.getTask({ taskId: 't', limit: 9 })).toBeNull()
  })
})

describe('a task that changes between the read and the write of another', () => {
  check('is found as it is by then', async () => {
    const memory = await started()
    const { put, attach, store, clock, text } = memory
    const between = (work: () => Promise<unknown>) => injectFaults(dynamodb, 'TransactWriteItems', [meanwhile(work)])
    const shown = async () => (await wholeOf(memory)).document.split('\n').at(-2)
    const latest = async () => (await store.getTask({ taskId: 't', limit: 1 }))?.task.latestTurn
    {
      using _faults = between(() => put('t', 9, 'nine'))
      await put('t', 8, 'eight')
    }
    expect([await shown(), await latest()]).toEqual(['nine', 9])
    {
      using _faults = between(() => attach('t', 99, 'a'))
      await attach('t', 98, 'a')
    }
    expect(await latest()).toBe(99)
    {
      using _faults = between(() => put('t', 9, ''))
      await put('t', 6, 'six')
    }
    expect([await shown(), await latest()]).toEqual(['eight', 99])
    {
      using _faults = between(() => put('t', 7, 'seven'))
      await put('t', 8, '')
    }
    expect(await shown()).toBe('seven')
    {
      using _faults = between(() => put('t', 9, 'nine'))
      await put('t', 9, '')
    }
    expect(await shown()).toBe('seven')
    {
      using _faults = between(() => store.deleteTask({ taskId: 't', mayDelete }))
      await attach('t', 3, 'a')
    }
    expect(await store.getTask({ taskId: 't', limit: 9 })).toMatchObject({ task: { turnCount: 1 } })
    expect(await text('t', 3, 'a')).toBe('a')
    // Nothing of the old task takes it along.
    await store.deleteTask({ taskId: 'other', mayDelete })
    expect(await text('t', 3, 'a')).toBe('a')
    {
      const expires = async () => {
        clock.now += 1_000_000
        await put('t', 4, large)
      }
      using _faults = between(expires)
      await put('t', 5, `${large}5`)
    }
    expect(await store.getTask({ taskId: 't', limit: 9 })).toMatchObject({ turns: [{ turn: 4 }, { turn: 5 }] })
    expect(await store.getTurn({ taskId: 't', turn: 5 })).toMatchObject({ summaryMd: `${large}5` })
  })

  check('and is another by the time that its turns are read is read again', async () => {
    const memory = await started()
    const { put, store } = memory
    const replace = async () => {
      await store.deleteTask({ taskId: 't', mayDelete })
      for (const number of [7, 8, 9]) await put('t', number, 'new')
    }
    using _faults = injectFaults(dynamodb, 'Query', [meanwhile(replace)])
    const page = await store.getTask({ taskId: 't', limit: 9 })
    expect(page).toMatchObject({ task: { turnCount: 3 }, turns: [{ turn: 7 }, { turn: 8 }, { turn: 9 }] })
  })

  check('and of which the summary has gone meanwhile is read again', async () => {
    const memory = await started()
    const { put, store, scope } = memory
    const replace = async () => {
      const old = (await objectsOf(engines, scope)).find((key) => key.includes('summary-')) ?? ''
      await put('t', 1, 'new')
      await s3.send(new DeleteObjectCommand({ Bucket: engines.bucketName, Key: memoryObjectPrefix(scope) + old }))
    }
    using _faults = injectFaults(s3, 'GetObject', [meanwhile(replace)])
    expect(await store.getTurn(turn)).toMatchObject({ summaryMd: 'new' })
  })
})

describe('a storage that stays out of reach', () => {
  check('is told to be unavailable, and nothing changes', async () => {
    const memory = await started()
    const before = await wholeOf(memory)
    const many = (fault: () => Fault) => Array.from({ length: 30 }, fault)
    for (const command of ['TransactWriteItems', 'BatchGetItem']) {
      using _faults = injectFaults(
        dynamodb,
        command,
        many(() => refuse(timeout)),
      )
      await expect(memory.put('t', 2, 'never')).rejects.toMatchObject({ status: 503, code: 'unavailable' })
    }
    {
      using _faults = injectFaults(
        s3,
        'PutObject',
        many(() => refuse(() => serviceError('SlowDown', 503))),
      )
      await expect(memory.attach('t', 2, 'never')).rejects.toMatchObject({ status: 503 })
      await expect(memory.put('t', 2, `${large}never`)).rejects.toMatchObject({ status: 503 })
    }
    {
      using _faults = injectFaults(dynamodb, 'TransactWriteItems', [refuse(() => cancelled('ValidationError'))])
      await expect(memory.put('t', 2, 'never')).rejects.toThrow('ValidationError')
    }
    expect(await wholeOf(memory)).toEqual(before)
  })
})
