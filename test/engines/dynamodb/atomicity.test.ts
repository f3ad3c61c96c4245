import { BatchGetCommand, QueryCommand, TransactGetCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { contract, refusal, useTable } from './engine.ts'

const t = useTable()

const SORT_KEYS = ['a', 'b', 'c', 'd']
const ROUNDS = 300

const writeAll = (pk: string, version: number) =>
  t.doc.send(
    new TransactWriteCommand({
      TransactItems: SORT_KEYS.map((sk) => ({ Put: { TableName: t.table, Item: { pk, sk, version } } })),
    }),
  )

/** Reads of all versions in a partition that are consistent as a whole. */
const readers = (pk: string) => [
  async () => {
    const TransactItems = SORT_KEYS.map((sk) => ({ Get: { TableName: t.table, Key: { pk, sk } } }))
    const answer = await t.doc.send(new TransactGetCommand({ TransactItems }))
    return answer.Responses?.map(({ Item }) => Item?.version) ?? []
  },
  async () => {
    const answer = await t.doc.send(
      new QueryCommand({
        TableName: t.table,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': pk },
        ConsistentRead: true,
      }),
    )
    return answer.Items?.map(({ version }) => version) ?? []
  },
]

/** Reads until `done`, and returns all answers that showed more than one version. */
async function watch(
  read: () => Promise<unknown[]>,
  done: () => boolean,
): Promise<{ reads: number; torn: unknown[][] }> {
  const torn: unknown[][] = []
  let reads = 0
  while (!done()) {
    const versions = await read()
    reads++
    if (new Set(versions).size !== 1 || versions.length !== SORT_KEYS.length) torn.push(versions)
  }
  return { reads, torn }
}

contract('a cancelled transaction leaves no trace, and a completed one shows to every kind of read', async () => {
  const pk = t.partition()
  await writeAll(pk, 1)
  const guarded = (version: number, expected: number) =>
    t.doc.send(
      new TransactWriteCommand({
        TransactItems: SORT_KEYS.map((sk, i) => ({
          Update: {
            TableName: t.table,
            Key: { pk, sk },
            UpdateExpression: 'SET version = :version',
            // Only the last action's condition can fail.
            ConditionExpression:
              i === SORT_KEYS.length - 1 ? 'version = :expected' : 'version <> :expected OR version = :expected',
            ExpressionAttributeValues: { ':version': version, ':expected': expected },
          },
        })),
      }),
    )
  expect((await refusal(guarded(2, 99))).name).toBe('TransactionCanceledException')
  for (const read of readers(pk)) expect(await read()).toEqual([1, 1, 1, 1])
  await guarded(2, 1)
  for (const read of readers(pk)) expect(await read()).toEqual([2, 2, 2, 2])
})

contract('no reader sees a part of a transaction', async () => {
  const pk = t.partition()
  await writeAll(pk, 0)
  let written = false
  const watching = readers(pk).map((read) => watch(read, () => written))
  for (let version = 1; version <= ROUNDS; version++) await writeAll(pk, version)
  written = true
  for (const { reads, torn } of await Promise.all(watching)) {
    expect(torn).toEqual([])
    expect(reads).toBeGreaterThan(ROUNDS / 20)
  }
})

contract('of transactions that compete for one item exactly one wins each round, whole', async () => {
  const pk = t.partition()
  await writeAll(pk, 0)
  const move = (from: number, writer: number) =>
    t.doc.send(
      new TransactWriteCommand({
        TransactItems: [
          {
            Update: {
              TableName: t.table,
              Key: { pk, sk: 'a' },
              UpdateExpression: 'SET version = :next',
              ConditionExpression: 'version = :from',
              ExpressionAttributeValues: { ':from': from, ':next': from + 1 },
            },
          },
          { Put: { TableName: t.table, Item: { pk: `${pk}-log`, sk: `${from}-${writer}` } } },
        ],
      }),
    )
  for (let from = 0; from < 10; from++) {
    const results = await Promise.allSettled([1, 2, 3, 4].map((writer) => move(from, writer)))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results) {
      if (result.status === 'rejected') {
        const error = await refusal(Promise.reject(result.reason))
        expect(error.name).toBe('TransactionCanceledException')
        expect(error.CancellationReasons?.[1]?.Code).toBe('None')
      }
    }
  }
  const log = await t.doc.send(
    new BatchGetCommand({
      RequestItems: {
        [t.table]: {
          Keys: Array.from({ length: 40 }, (_, i) => ({ pk: `${pk}-log`, sk: `${Math.floor(i / 4)}-${(i % 4) + 1}` })),
          ConsistentRead: true,
        },
      },
    }),
  )
  expect(log.Responses?.[t.table]).toHaveLength(10)
})
