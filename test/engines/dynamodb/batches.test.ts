import { DeleteTableCommand } from '@aws-sdk/client-dynamodb'
import { BatchGetCommand, type BatchGetCommandOutput, BatchWriteCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { contract, isInvalid, itemOfSize, useTable } from './engine.ts'
import { createTable } from './engine-client.ts'

const t = useTable()

const numbered = (pk: string, count: number) => Array.from({ length: count }, (_, i) => ({ pk, sk: `item-${i}` }))
const write = (requests: object[]) => t.doc.send(new BatchWriteCommand({ RequestItems: { [t.table]: requests } }))
const putAll = (items: { [attribute: string]: unknown }[]) => write(items.map((Item) => ({ PutRequest: { Item } })))
const get = (Keys: { [attribute: string]: unknown }[], more: object = {}): Promise<BatchGetCommandOutput> =>
  t.doc.send(new BatchGetCommand({ RequestItems: { [t.table]: { Keys, ConsistentRead: true, ...more } } }))
const found = (answer: BatchGetCommandOutput) => (answer.Responses?.[t.table] ?? []).map((item) => item.sk).sort()

contract('a batch writes and deletes up to 25 items', async () => {
  const pk = t.partition()
  await putAll(numbered(pk, 25))
  expect(found(await get(numbered(pk, 25)))).toHaveLength(25)
  await write([
    { DeleteRequest: { Key: { pk, sk: 'item-0' } } },
    { DeleteRequest: { Key: { pk, sk: 'never' } } },
    { PutRequest: { Item: { pk, sk: 'item-1', n: 2 } } },
  ])
  expect(found(await get(numbered(pk, 2)))).toEqual(['item-1'])
})

contract('a batch of no or of 26 writes is refused', async () => {
  const pk = t.partition()
  expect(await isInvalid(putAll(numbered(pk, 26)))).toBe(true)
  expect(found(await get(numbered(pk, 26)))).toEqual([])
  expect(await isInvalid(write([]))).toBe(true)
})

contract('25 writes is the limit over all tables of a batch', async () => {
  const pk = t.partition()
  const second = `${t.table}-second`
  await createTable(t.client, second)
  const puts = (of: string, count: number) => numbered(of, count).map((Item) => ({ PutRequest: { Item } }))
  const over = new BatchWriteCommand({ RequestItems: { [t.table]: puts(pk, 13), [second]: puts(second, 13) } })
  expect(await isInvalid(t.doc.send(over))).toBe(true)
  await t.doc.send(new BatchWriteCommand({ RequestItems: { [t.table]: puts(pk, 13), [second]: puts(second, 12) } }))
  await t.client.send(new DeleteTableCommand({ TableName: second }))
})

contract('a refused batch of writes changes nothing', async () => {
  const pk = t.partition()
  expect(await isInvalid(putAll([{ pk, sk: 'fine' }, itemOfSize(pk, 'over', 409_601)]))).toBe(true)
  expect(
    await isInvalid(
      putAll([
        { pk, sk: 'fine' },
        { pk, sk: '' },
      ]),
    ),
  ).toBe(true)
  expect(
    await isInvalid(
      putAll([
        { pk, sk: 'fine' },
        { pk, sk: 'fine' },
      ]),
    ),
  ).toBe(true)
  expect(found(await get([{ pk, sk: 'fine' }]))).toEqual([])
})

contract('a batch of writes takes 25 items of 400 KB', async () => {
  const pk = t.partition()
  const answer = await putAll(numbered(pk, 25).map(({ sk }) => itemOfSize(pk, sk, 409_600)))
  expect(answer.UnprocessedItems ?? {}).toEqual({})
})

contract('a batch reads up to 100 distinct keys', async () => {
  const pk = t.partition()
  await putAll(numbered(pk, 3))
  expect(found(await get(numbered(pk, 100)))).toEqual(['item-0', 'item-1', 'item-2'])
  expect(await isInvalid(get(numbered(pk, 101)))).toBe(true)
  expect(await isInvalid(get([...numbered(pk, 1), ...numbered(pk, 1)]))).toBe(true)
})

contract('a batch reads no empty key', async () => {
  expect(await isInvalid(get([{ pk: t.partition(), sk: '' }]))).toBe(true)
})

contract('a batch of reads ends at 16 MB and names the keys that it left, with their projection', async () => {
  const pk = t.partition()
  const keys = numbered(pk, 50)
  for (const { sk } of keys) {
    await t.doc.send(new PutCommand({ TableName: t.table, Item: itemOfSize(pk, sk, 400_000) }))
  }
  const projection = { ProjectionExpression: 'sk, #body', ExpressionAttributeNames: { '#body': 'body' } }
  let asked: BatchGetCommandOutput['UnprocessedKeys'] = { [t.table]: { Keys: keys, ...projection } }
  const sizes: number[] = []
  const names: unknown[] = []
  while (asked && Object.keys(asked).length > 0) {
    const answer: BatchGetCommandOutput = await t.doc.send(new BatchGetCommand({ RequestItems: asked }))
    const items = answer.Responses?.[t.table] ?? []
    expect(items.every((item) => Object.keys(item).length === 2)).toBe(true)
    sizes.push(items.length)
    names.push(...items.map((item) => item.sk))
    asked = answer.UnprocessedKeys
  }
  expect(sizes).toEqual([41, 9])
  expect(new Set(names).size).toBe(50)
})
