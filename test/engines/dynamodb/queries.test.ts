import {
  PutCommand,
  QueryCommand,
  type QueryCommandInput,
  type QueryCommandOutput,
  ScanCommand,
} from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { contract, isInvalid, itemOfSize, useTable } from './engine.ts'

const t = useTable()

const MB = 1024 * 1024

const put = (Item: { [attribute: string]: unknown }) => t.doc.send(new PutCommand({ TableName: t.table, Item }))
const query = (pk: string, input: Partial<QueryCommandInput> = {}) =>
  t.doc.send(
    new QueryCommand({
      TableName: t.table,
      KeyConditionExpression: 'pk = :pk',
      ConsistentRead: true,
      ...input,
      ExpressionAttributeValues: { ':pk': pk, ...input.ExpressionAttributeValues },
    }),
  )
const keys = (answer: QueryCommandOutput) => (answer.Items ?? []).map((item) => String(item.sk))

async function pages(pk: string, input: Partial<QueryCommandInput> = {}): Promise<QueryCommandOutput[]> {
  const answers: QueryCommandOutput[] = []
  let start: QueryCommandOutput['LastEvaluatedKey']
  do {
    const answer = await query(pk, { ...input, ...(start ? { ExclusiveStartKey: start } : {}) })
    answers.push(answer)
    start = answer.LastEvaluatedKey
  } while (start)
  return answers
}

async function fill(pk: string, sortKeys: string[]): Promise<void> {
  for (const sk of sortKeys) await put({ pk, sk, n: Number(sk.replace(/\D/g, '')) })
}

contract('a query returns its partition in the order of the sort key, by UTF-8 bytes', async () => {
  const pk = t.partition()
  const sorted = ['A', 'a', 'a#1', 'a#10', 'a#2', 'ab', 'é', '\uffff', '\u{10000}']
  await fill(pk, [...sorted].reverse())
  await fill(`${pk}-other`, ['x'])
  expect(keys(await query(pk))).toEqual(sorted)
  expect(keys(await query(pk, { ScanIndexForward: false }))).toEqual([...sorted].reverse())
})

contract('a query takes a range of the sort key', async () => {
  const pk = t.partition()
  await fill(pk, ['a#1', 'a#2', 'a#3', 'b#1', 'b#2'])
  const range = async (condition: string, ...values: string[]) =>
    keys(
      await query(pk, {
        KeyConditionExpression: `pk = :pk AND ${condition}`,
        ExpressionAttributeValues: Object.fromEntries(values.map((value, i) => [`:v${i}`, value])),
      }),
    )
  expect(await range('begins_with(sk, :v0)', 'a#')).toEqual(['a#1', 'a#2', 'a#3'])
  expect(await range('sk BETWEEN :v0 AND :v1', 'a#2', 'b#1')).toEqual(['a#2', 'a#3', 'b#1'])
  expect(await range('sk < :v0', 'a#2')).toEqual(['a#1'])
  expect(await range('sk <= :v0', 'a#2')).toEqual(['a#1', 'a#2'])
  expect(await range('sk > :v0', 'b#1')).toEqual(['b#2'])
  expect(await range('sk >= :v0', 'b#1')).toEqual(['b#1', 'b#2'])
  expect(await range('sk = :v0', 'b#1')).toEqual(['b#1'])
  expect(await range('sk BETWEEN :v0 AND :v1', '\uffff', '\u{10000}')).toEqual([])
})

contract('a page ends at 1 MB and the pages hold every item once', async () => {
  const pk = t.partition()
  const names = Array.from({ length: 12 }, (_, i) => `item-${String(i).padStart(2, '0')}`)
  for (const name of names) await put(itemOfSize(pk, name, 300_000))
  for (const input of [{}, { ScanIndexForward: false }]) {
    const answers = await pages(pk, input)
    expect(answers.length).toBeGreaterThanOrEqual(3)
    for (const { Items = [] } of answers) expect(JSON.stringify(Items).length).toBeLessThan(MB + 400_000)
    expect(answers.flatMap(keys).sort()).toEqual(names)
  }
})

contract('a page ends at 1 MB of UTF-8', async () => {
  const pk = t.partition()
  for (let i = 0; i < 8; i++) await put({ pk, sk: `${i}`, text: '€'.repeat(100_000) })
  const answers = await pages(pk)
  expect(answers.length).toBeGreaterThanOrEqual(2)
  expect(answers.flatMap(keys)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
})

contract('1 MB is read before the filter, so a page may come back empty with more behind it', async () => {
  const pk = t.partition()
  for (let i = 0; i < 5; i++) await put({ ...itemOfSize(pk, `a${i}`, 300_000), kind: 'chaff' })
  await put({ pk, sk: 'z', kind: 'wheat' })
  const answers = await pages(pk, {
    FilterExpression: 'kind = :kind',
    ExpressionAttributeValues: { ':kind': 'wheat' },
  })
  expect(answers[0]?.Items).toEqual([])
  expect(answers[0]?.LastEvaluatedKey).toBeDefined()
  expect(answers.flatMap(keys)).toEqual(['z'])
})

contract('Limit counts items before the filter', async () => {
  const pk = t.partition()
  await fill(pk, ['1', '2', '3', '4'])
  const filter = { FilterExpression: 'n > :two', ExpressionAttributeValues: { ':two': 2 } }
  const first = await query(pk, { ...filter, Limit: 2 })
  expect(first).toMatchObject({ Count: 0, ScannedCount: 2, LastEvaluatedKey: { pk, sk: '2' } })
  const next = await query(pk, { ...filter, Limit: 2, ExclusiveStartKey: { pk, sk: '2' } })
  expect(keys(next)).toEqual(['3', '4'])
})

contract('Limit pages through everything in both directions', async () => {
  const pk = t.partition()
  const names = ['1', '2', '3', '4', '5']
  await fill(pk, names)
  expect((await pages(pk, { Limit: 2 })).flatMap(keys)).toEqual(names)
  expect((await pages(pk, { Limit: 2, ScanIndexForward: false })).flatMap(keys)).toEqual([...names].reverse())
  expect((await pages(pk, { Limit: 1 })).flatMap(keys)).toEqual(names)
})

contract('a query may start after a key that does not exist any more', async () => {
  const pk = t.partition()
  await fill(pk, ['1', '3'])
  expect(keys(await query(pk, { ExclusiveStartKey: { pk, sk: '2' } }))).toEqual(['3'])
})

contract('a query counts and projects', async () => {
  const pk = t.partition()
  await fill(pk, ['1', '2'])
  const counted = await query(pk, { Select: 'COUNT' })
  expect(counted.Count).toBe(2)
  expect(counted.Items).toBeUndefined()
  expect((await query(pk, { ProjectionExpression: 'n' })).Items).toEqual([{ n: 1 }, { n: 2 }])
})

contract('a filter compares and projects like a condition', async () => {
  const pk = t.partition()
  await put({ pk, sk: '1', m: { k: [1] }, n: 1 })
  await put({ pk, sk: '2', m: { k: [2] }, n: 2 })
  const filter = { FilterExpression: 'm = :m', ExpressionAttributeValues: { ':m': { k: [2] } } }
  expect((await query(pk, { ...filter, ProjectionExpression: 'n' })).Items).toEqual([{ n: 2 }])
  expect(await query(pk, { ...filter, Select: 'COUNT' })).toMatchObject({ Count: 1, ScannedCount: 2 })
})

contract('a query without a partition key, or filtering on a key, is refused', async () => {
  const sort = { KeyConditionExpression: 'sk = :pk' }
  expect(await isInvalid(query('a', sort))).toBe(true)
  expect(await isInvalid(query('a', { FilterExpression: 'sk = :pk' }))).toBe(true)
  expect(await isInvalid(query('a', { Limit: 0 }))).toBe(true)
})

contract('a scan pages through the whole table', async () => {
  const pk = t.partition()
  await fill(pk, ['1', '2', '3'])
  const found: unknown[] = []
  let start: { [attribute: string]: unknown } | undefined
  do {
    const answer = await t.doc.send(
      new ScanCommand({
        TableName: t.table,
        FilterExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': pk },
        ...(start ? { ExclusiveStartKey: start } : {}),
      }),
    )
    found.push(...(answer.Items ?? []).map((item) => item.sk))
    start = answer.LastEvaluatedKey
  } while (start)
  expect(found).toEqual(['1', '2', '3'])
})
