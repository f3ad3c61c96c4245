import { DescribeTimeToLiveCommand, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb'
import { DeleteCommand, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { contract, refusal, useTable } from './engine.ts'

const t = useTable()

const put = (Item: { [attribute: string]: unknown }) => t.doc.send(new PutCommand({ TableName: t.table, Item }))
const stored = async (pk: string, sk: string) =>
  (await t.doc.send(new GetCommand({ TableName: t.table, Key: { pk, sk }, ConsistentRead: true }))).Item

const OLD = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const }

contract('a written item is read back at once, consistently, and not after its deletion', async () => {
  const pk = t.partition()
  for (let n = 0; n < 20; n++) {
    await put({ pk, sk: 'a', n })
    expect((await stored(pk, 'a'))?.n).toBe(n)
  }
  await t.doc.send(new DeleteCommand({ TableName: t.table, Key: { pk, sk: 'a' } }))
  expect(await stored(pk, 'a')).toBeUndefined()
})

contract('every type of value survives', async () => {
  const item = {
    pk: t.partition(),
    sk: 'a',
    text: 'grün 🌱 \u0000 \uffff',
    number: -12.5e-7,
    bytes: new Uint8Array([0, 255, 128]),
    yes: true,
    nothing: null,
    list: [1, 'two', [null, { three: 3 }]],
    strings: new Set(['a', 'b']),
    numbers: new Set([1, 2]),
  }
  await put(item)
  expect(await stored(item.pk, 'a')).toEqual(item)
})

contract('a failed condition of one write answers with the item for ALL_OLD only', async () => {
  const pk = t.partition()
  const item = { pk, sk: 'a', fence: 3 }
  await put(item)
  const wrong = {
    TableName: t.table,
    ConditionExpression: 'fence = :fence',
    ExpressionAttributeValues: { ':fence': 4 },
  }
  const update = { Key: { pk, sk: 'a' }, UpdateExpression: 'REMOVE fence' }
  for (const request of [
    () => t.doc.send(new PutCommand({ ...wrong, ...OLD, Item: { pk, sk: 'a' } })),
    () => t.doc.send(new UpdateCommand({ ...wrong, ...OLD, ...update })),
    () => t.doc.send(new DeleteCommand({ ...wrong, ...OLD, Key: { pk, sk: 'a' } })),
  ]) {
    const error = await refusal(request())
    expect(error.name).toBe('ConditionalCheckFailedException')
    expect(error.message).toBe('The conditional request failed')
    expect(error.Item).toEqual(item)
  }
  const plain = await refusal(t.doc.send(new DeleteCommand({ ...wrong, Key: { pk, sk: 'a' } })))
  expect(plain.name).toBe('ConditionalCheckFailedException')
  expect(plain.Item).toBeUndefined()
  const missing = await refusal(t.doc.send(new DeleteCommand({ ...wrong, ...OLD, Key: { pk, sk: 'none' } })))
  expect(missing.Item).toBeUndefined()
  expect(await stored(pk, 'a')).toEqual(item)
})

/** Whether a condition holds for the item `a` of a partition. */
const check = (pk: string, condition: string, values?: { [name: string]: unknown }) =>
  t.doc
    .send(
      new UpdateCommand({
        TableName: t.table,
        Key: { pk, sk: 'a' },
        UpdateExpression: 'REMOVE nothing',
        ConditionExpression: condition,
        ...(values ? { ExpressionAttributeValues: values } : {}),
      }),
    )
    .then(
      () => true,
      (error: Error) => (error.name === 'ConditionalCheckFailedException' ? false : error),
    )

contract('conditions compare by type and value', async () => {
  const pk = t.partition()
  await put({
    pk,
    sk: 'a',
    n: 5,
    s: 'abc',
    l: [1, { k: 'v' }],
    m: { k: [1] },
    tags: new Set(['x', 'y']),
    flag: true,
  })
  expect(await check(pk, 'n = :v', { ':v': 5 })).toBe(true)
  expect(await check(pk, 'n = :v', { ':v': '5' })).toBe(false)
  expect(await check(pk, 'n <> :v', { ':v': '5' })).toBe(true)
  expect(await check(pk, 'n > :v', { ':v': 10 })).toBe(false)
  expect(await check(pk, 'n BETWEEN :a AND :b', { ':a': 5, ':b': 10 })).toBe(true)
  expect(await check(pk, 'n IN (:a, :b)', { ':a': 4, ':b': 5 })).toBe(true)
  expect(await check(pk, 'begins_with(s, :v)', { ':v': 'ab' })).toBe(true)
  expect(await check(pk, 'contains(s, :v)', { ':v': 'bc' })).toBe(true)
  expect(await check(pk, 'contains(m.k, :v) AND contains(l, :m)', { ':v': 1, ':m': { k: 'v' } })).toBe(true)
  expect(await check(pk, 'size(s) = :v', { ':v': 3 })).toBe(true)
  expect(await check(pk, 'l = :v', { ':v': [1, { k: 'v' }] })).toBe(true)
  expect(await check(pk, 'l = :v', { ':v': [1, { k: 'w' }] })).toBe(false)
  expect(await check(pk, 'm = :v', { ':v': { k: [1] } })).toBe(true)
  expect(await check(pk, 'm <> :v', { ':v': { k: [1] } })).toBe(false)
  expect(await check(pk, 'absent <> :v', { ':v': 1 })).toBe(true)
  expect(await check(pk, 'absent < :v', { ':v': 1 })).toBe(false)
  expect(await check(pk, 'attribute_not_exists(absent) AND NOT n = :v', { ':v': 6 })).toBe(true)
  expect(await check(pk, 'tags = :v AND contains(tags, :x)', { ':v': new Set(['y', 'x']), ':x': 'x' })).toBe(true)
  expect(await check(pk, 'flag = :v', { ':v': true })).toBe(true)
  expect(await check(pk, 'toString = n OR attribute_exists(toString)')).toBe(false)
  expect(await check(pk, 'attribute_type(n, :v)', { ':v': 'N' })).toBe(true)
})

contract('two missing attributes are not equal', async () => {
  const pk = t.partition()
  await put({ pk, sk: 'a' })
  expect(await check(pk, 'absent = never')).toBe(false)
})

contract('conditions order strings by UTF-8 bytes', async () => {
  const pk = t.partition()
  await put({ pk, sk: 'a', high: '\u{10000}' })
  expect(await check(pk, 'high > :v', { ':v': '\uffff' })).toBe(true)
  expect(await check(pk, 'high BETWEEN :v AND :w', { ':v': '\uffff', ':w': '\u{10001}' })).toBe(true)
})

contract('an update returns what was asked for and creates a missing item', async () => {
  const pk = t.partition()
  const update = (ReturnValues: 'ALL_NEW' | 'ALL_OLD' | 'UPDATED_NEW' | 'UPDATED_OLD' | 'NONE') =>
    t.doc
      .send(
        new UpdateCommand({
          TableName: t.table,
          Key: { pk, sk: 'a' },
          UpdateExpression: 'SET n = if_not_exists(n, :zero) + :one',
          ExpressionAttributeValues: { ':zero': 0, ':one': 1 },
          ReturnValues,
        }),
      )
      .then((answer) => answer.Attributes)
  expect(await update('ALL_NEW')).toEqual({ pk, sk: 'a', n: 1 })
  expect(await update('ALL_OLD')).toEqual({ pk, sk: 'a', n: 1 })
  expect(await update('UPDATED_NEW')).toEqual({ n: 3 })
  expect(await update('UPDATED_OLD')).toEqual({ n: 3 })
  expect(await update('NONE')).toBeUndefined()
  expect(await stored(pk, 'a')).toEqual({ pk, sk: 'a', n: 5 })
})

contract('parallel increments are all counted', async () => {
  const pk = t.partition()
  await Promise.all(
    Array.from({ length: 40 }, () =>
      t.doc.send(
        new UpdateCommand({
          TableName: t.table,
          Key: { pk, sk: 'a' },
          UpdateExpression: 'ADD n :one',
          ExpressionAttributeValues: { ':one': 1 },
        }),
      ),
    ),
  )
  expect((await stored(pk, 'a'))?.n).toBe(40)
})

contract('of parallel creations of one item exactly one succeeds', async () => {
  const pk = t.partition()
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, n) =>
      t.doc.send(
        new PutCommand({
          TableName: t.table,
          Item: { pk, sk: 'a', n },
          ConditionExpression: 'attribute_not_exists(pk)',
        }),
      ),
    ),
  )
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
})

contract('a table has a time to live once it is set', async () => {
  const describe = async () =>
    (await t.client.send(new DescribeTimeToLiveCommand({ TableName: t.table }))).TimeToLiveDescription
  expect((await describe())?.TimeToLiveStatus).toBe('DISABLED')
  const TimeToLiveSpecification = { AttributeName: 'expires', Enabled: true }
  await t.client.send(new UpdateTimeToLiveCommand({ TableName: t.table, TimeToLiveSpecification }))
  expect(await describe()).toEqual({ TimeToLiveStatus: 'ENABLED', AttributeName: 'expires' })
})

contract('a time to live cannot be enabled twice', async () => {
  const TimeToLiveSpecification = { AttributeName: 'expires', Enabled: true }
  const enable = () => t.client.send(new UpdateTimeToLiveCommand({ TableName: t.table, TimeToLiveSpecification }))
  await enable().catch(() => undefined)
  expect((await refusal(enable())).name).toBe('ValidationException')
})
