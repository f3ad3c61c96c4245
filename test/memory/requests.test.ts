import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'
import { afterAll, describe, expect } from 'vitest'
import { turnKey } from '../../src/table/keys.ts'
import { Table } from '../../src/table/table.ts'
import { check } from '../store/support/check.ts'
import { startEngines } from '../support/engines.ts'
import { ME, memoryOf } from './support/memory.ts'
import { putItems } from './support/put-items.ts'

const engines = await startEngines()
afterAll(engines.stop)

const large = 'x'.repeat(5_000)

/** The requests that work sends, by their commands. */
async function requestsOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const clients: Array<DynamoDBClient | S3Client> = [engines.dynamodb, engines.s3]
  for (const client of clients) {
    const stack = client.middlewareStack as DynamoDBClient['middlewareStack']
    stack.add(
      (next, context) => (args) => {
        const command = String(context.commandName).replace(/Command$/, '')
        counts[command] = (counts[command] ?? 0) + 1
        return next(args)
      },
      { name: 'counts', step: 'finalizeRequest', priority: 'low' },
    )
  }
  await work().finally(() => {
    for (const client of clients) client.middlewareStack.remove('counts')
  })
  return counts
}

describe('the requests of', () => {
  check('a write of a turn are a read, one write, and one put of a large summary', async () => {
    const { put } = memoryOf(engines)
    const one = { BatchGetItem: 1, TransactWriteItems: 1 }
    expect(await requestsOf(() => put('t', 1, 'made'))).toEqual(one)
    expect(await requestsOf(() => put('t', 2, 'added'))).toEqual(one)
    expect(await requestsOf(() => put('t', 2, 'replaced'))).toEqual(one)
    expect(await requestsOf(() => put('t', 1, ''))).toEqual(one)
    expect(await requestsOf(() => put('t', 3, large))).toEqual({ ...one, PutObject: 1 })
    expect(await requestsOf(() => put('t', 3, `${large}2`))).toEqual({ ...one, PutObject: 1 })
    // The next newest is looked for.
    expect(await requestsOf(() => put('t', 3, ''))).toEqual({ ...one, Query: 1 })
  })

  check('a write of an artifact are a read, one write and one put', async () => {
    const { attach } = memoryOf(engines)
    const one = { BatchGetItem: 1, TransactWriteItems: 1, PutObject: 1 }
    for (let n = 0; n < 36; n++) expect(await requestsOf(() => attach('t', 1, `a${n}`))).toEqual(one)
    expect(await requestsOf(() => attach('t', 1, 'a1', 'replaced'))).toEqual(one)
    expect(await requestsOf(() => attach('t', 1, 'a35', 'replaced'))).toEqual(one)
  })

  check('a read of a turn are one, and one more for a large summary', async () => {
    const { store, put, attach } = memoryOf(engines)
    await put('t', 1, 'small')
    await attach('t', 1, 'a')
    const read = () => store.getTurn({ taskId: 't', turn: 1 })
    expect(await requestsOf(read)).toEqual({ TransactGetItems: 1 })
    await put('t', 1, large)
    expect(await requestsOf(read)).toEqual({ TransactGetItems: 1, GetObject: 1 })
    expect(await requestsOf(() => store.findArtifact({ taskId: 't', turn: 1, name: 'a' }))).toEqual({
      BatchGetItem: 1,
    })
  })

  check(
    'the last of 10,000 turns are those of the first',
    async () => {
      const memory = memoryOf(engines)
      const { put, attach, store, scope } = memory
      const add = async (turn: number) => ({
        put: await requestsOf(() => put('t', turn, 'summary')),
        attach: await requestsOf(() => attach('t', turn, 'a')),
        get: await requestsOf(() => store.getTurn({ taskId: 't', turn })),
      })
      await put('t', 0, 'summary')
      const second = await add(1)
      const table = new Table(engines.dynamodb, engines.tableName)
      const item = { ...(await table.get(turnKey(scope, 't', 1))), meta: `{"a":"${'x'.repeat(1_000)}"}` }
      // What many turns weigh: 3 MB.
      const turns = Array.from({ length: 2_500 }, (_, n) => 2 + 3 * n)
      await putItems(
        engines,
        turns.map((turn) => ({ ...item, ...turnKey(scope, 't', turn) })),
      )
      expect(await add(9_999)).toEqual(second)
    },
    { timeout: 120_000 },
  )

  check('lists are one for a page', async () => {
    const { store, put } = memoryOf(engines)
    for (let n = 0; n < 5; n++) await put(`t${n}`, n)
    expect(await requestsOf(() => store.listTasks({ limit: 3 }))).toEqual({ Query: 1 })
    expect(await requestsOf(() => store.getTask({ taskId: 't1', limit: 3 }))).toEqual({ GetItem: 2, Query: 1 })
    expect(await requestsOf(() => store.deleteTask({ taskId: 'none', mayDelete: (by) => by === ME }))).toEqual({
      GetItem: 1,
      Query: 1,
    })
  })
})
