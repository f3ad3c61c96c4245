import { GetCommand, PutCommand, QueryCommand, TransactGetCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { cancellation, contract, refusal, useTable } from './engine.ts'

const t = useTable()

type Actions = NonNullable<ConstructorParameters<typeof TransactWriteCommand>[0]['TransactItems']>

const put = (item: { [attribute: string]: unknown }) => t.doc.send(new PutCommand({ TableName: t.table, Item: item }))
const get = async (pk: string, sk: string) =>
  (await t.doc.send(new GetCommand({ TableName: t.table, Key: { pk, sk }, ConsistentRead: true }))).Item
const transact = (...actions: Actions) => t.doc.send(new TransactWriteCommand({ TransactItems: actions }))
const count = async (pk: string) =>
  (
    await t.doc.send(
      new QueryCommand({
        TableName: t.table,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': pk },
        ConsistentRead: true,
      }),
    )
  ).Count

const NEW = 'attribute_not_exists(pk)'
const THERE = 'attribute_exists(pk)'

contract('a transaction puts, updates, deletes and checks in one step', async () => {
  const pk = t.partition()
  await put({ pk, sk: 'counter', n: 4 })
  await put({ pk, sk: 'old' })
  await put({ pk, sk: 'guard', open: true })
  await transact(
    { Put: { TableName: t.table, Item: { pk, sk: 'new', text: 'hello' }, ConditionExpression: NEW } },
    {
      Update: {
        TableName: t.table,
        Key: { pk, sk: 'counter' },
        UpdateExpression: 'SET n = n + :one',
        ConditionExpression: 'n = :expected',
        ExpressionAttributeValues: { ':one': 1, ':expected': 4 },
      },
    },
    { Delete: { TableName: t.table, Key: { pk, sk: 'old' }, ConditionExpression: THERE } },
    {
      ConditionCheck: {
        TableName: t.table,
        Key: { pk, sk: 'guard' },
        ConditionExpression: '#open = :true',
        ExpressionAttributeNames: { '#open': 'open' },
        ExpressionAttributeValues: { ':true': true },
      },
    },
  )
  expect(await get(pk, 'new')).toEqual({ pk, sk: 'new', text: 'hello' })
  expect(await get(pk, 'counter')).toEqual({ pk, sk: 'counter', n: 5 })
  expect(await get(pk, 'old')).toBeUndefined()
  expect(await get(pk, 'guard')).toEqual({ pk, sk: 'guard', open: true })
})

contract('a failed condition cancels the whole transaction, with reasons in the order of the actions', async () => {
  const pk = t.partition()
  await put({ pk, sk: 'b', n: 1 })
  const request = transact(
    { Put: { TableName: t.table, Item: { pk, sk: 'a' } } },
    { Put: { TableName: t.table, Item: { pk, sk: 'b', n: 2 }, ConditionExpression: NEW } },
    { Delete: { TableName: t.table, Key: { pk, sk: 'c' } } },
  )
  const error = await refusal(request)
  expect(error.name).toBe('TransactionCanceledException')
  expect(error.message).toContain('[None, ConditionalCheckFailed, None]')
  expect(error.CancellationReasons?.map(({ Code }) => Code)).toEqual(['None', 'ConditionalCheckFailed', 'None'])
  expect(error.CancellationReasons?.[1]?.Message).toBe('The conditional request failed')
  expect(error.CancellationReasons?.every(({ Item }) => Item === undefined)).toBe(true)
  expect(await get(pk, 'a')).toBeUndefined()
  expect(await get(pk, 'b')).toEqual({ pk, sk: 'b', n: 1 })
})

contract('every failed condition has its own reason', async () => {
  const pk = t.partition()
  await put({ pk, sk: 'there', n: 1 })
  const codes = await cancellation(
    transact(
      { Put: { TableName: t.table, Item: { pk, sk: 'there' }, ConditionExpression: NEW } },
      {
        Update: {
          TableName: t.table,
          Key: { pk, sk: 'gone' },
          UpdateExpression: 'SET n = :n',
          ConditionExpression: THERE,
          ExpressionAttributeValues: { ':n': 1 },
        },
      },
      { Delete: { TableName: t.table, Key: { pk, sk: 'gone-too' }, ConditionExpression: THERE } },
      { ConditionCheck: { TableName: t.table, Key: { pk, sk: 'never' }, ConditionExpression: THERE } },
      { ConditionCheck: { TableName: t.table, Key: { pk, sk: 'free' }, ConditionExpression: NEW } },
    ),
  )
  const failed = 'ConditionalCheckFailed'
  expect(codes).toEqual([failed, failed, failed, failed, 'None'])
})

contract('ALL_OLD answers a failed condition with the item as it is, for each kind of action', async () => {
  const pk = t.partition()
  const item = (sk: string) => ({ pk, sk, holder: 'someone', fence: 7 })
  for (const sk of ['put', 'update', 'delete', 'check']) await put(item(sk))
  const wanted = {
    TableName: t.table,
    ConditionExpression: 'fence = :fence',
    ExpressionAttributeValues: { ':fence': 8 },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  }
  const error = await refusal(
    transact(
      { Put: { ...wanted, Item: { pk, sk: 'put', fence: 9 } } },
      { Update: { ...wanted, Key: { pk, sk: 'update' }, UpdateExpression: 'REMOVE holder' } },
      { Delete: { ...wanted, Key: { pk, sk: 'delete' } } },
      { ConditionCheck: { ...wanted, Key: { pk, sk: 'check' } } },
    ),
  )
  expect(error.CancellationReasons?.map((reason) => reason.Item)).toEqual(
    ['put', 'update', 'delete', 'check'].map(item),
  )
})

contract('ALL_OLD answers without an item where there is none, and NONE never has one', async () => {
  const pk = t.partition()
  await put({ pk, sk: 'there' })
  const error = await refusal(
    transact(
      {
        ConditionCheck: {
          TableName: t.table,
          Key: { pk, sk: 'gone' },
          ConditionExpression: THERE,
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      },
      {
        ConditionCheck: {
          TableName: t.table,
          Key: { pk, sk: 'there' },
          ConditionExpression: NEW,
          ReturnValuesOnConditionCheckFailure: 'NONE',
        },
      },
    ),
  )
  expect(error.CancellationReasons?.map(({ Code }) => Code)).toEqual([
    'ConditionalCheckFailed',
    'ConditionalCheckFailed',
  ])
  expect(error.CancellationReasons?.map(({ Item }) => Item)).toEqual([undefined, undefined])
})

contract('conditions see the state before the transaction, not its other actions', async () => {
  const pk = t.partition()
  const codes = await cancellation(
    transact(
      { Put: { TableName: t.table, Item: { pk, sk: 'first' } } },
      { ConditionCheck: { TableName: t.table, Key: { pk, sk: 'second' }, ConditionExpression: THERE } },
    ),
  )
  expect(codes).toEqual(['None', 'ConditionalCheckFailed'])
  expect(await count(pk)).toBe(0)
})

contract('two actions on one item are refused', async () => {
  const pk = t.partition()
  const error = await refusal(
    transact(
      { Put: { TableName: t.table, Item: { pk, sk: 'same' } } },
      { ConditionCheck: { TableName: t.table, Key: { pk, sk: 'same' }, ConditionExpression: NEW } },
    ),
  )
  expect(error.name).toBe('ValidationException')
  expect(error.message).toBe('Transaction request cannot include multiple operations on one item')
  expect(await get(pk, 'same')).toBeUndefined()
})

contract('updates in a transaction: arithmetic, if_not_exists, REMOVE, ADD and DELETE', async () => {
  const pk = t.partition()
  await put({ pk, sk: 'has', n: 10, gone: 'x', tags: new Set(['a', 'b']), items: [1], nested: { deep: 1 } })
  await transact(
    {
      Update: {
        TableName: t.table,
        Key: { pk, sk: 'has' },
        UpdateExpression:
          'SET n = n - :three, #items = list_append(#items, :more), nested.deep = :two, was = n REMOVE gone ADD hits :one DELETE tags :tag',
        ExpressionAttributeNames: { '#items': 'items' },
        ExpressionAttributeValues: { ':three': 3, ':more': [2], ':two': 2, ':one': 1, ':tag': new Set(['a']) },
      },
    },
    {
      Update: {
        TableName: t.table,
        Key: { pk, sk: 'fresh' },
        UpdateExpression: 'SET n = if_not_exists(n, :zero) + :one, seen = if_not_exists(seen, :zero)',
        ExpressionAttributeValues: { ':zero': 0, ':one': 1 },
      },
    },
  )
  expect(await get(pk, 'has')).toEqual({
    pk,
    sk: 'has',
    n: 7,
    was: 10,
    tags: new Set(['b']),
    items: [1, 2],
    nested: { deep: 2 },
    hits: 1,
  })
  expect(await get(pk, 'fresh')).toEqual({ pk, sk: 'fresh', n: 1, seen: 0 })
})

contract('an update that cannot be carried out cancels with ValidationError', async () => {
  const pk = t.partition()
  await put({ pk, sk: 'text', value: 'not a number' })
  const arithmetic = (sk: string) => ({
    Update: {
      TableName: t.table,
      Key: { pk, sk },
      UpdateExpression: 'SET #v = #v + :one',
      ExpressionAttributeNames: { '#v': 'value' },
      ExpressionAttributeValues: { ':one': 1 },
    },
  })
  const other = { Put: { TableName: t.table, Item: { pk, sk: 'other' } } }
  expect(await cancellation(transact(other, arithmetic('text')))).toEqual(['None', 'ValidationError'])
  expect(await cancellation(transact(other, arithmetic('missing')))).toEqual(['None', 'ValidationError'])
  const deep = {
    ...arithmetic('text').Update,
    UpdateExpression: 'SET absent.deep = :one',
    ExpressionAttributeNames: undefined,
  }
  expect(await cancellation(transact(other, { Update: deep }))).toEqual(['None', 'ValidationError'])
  expect(await get(pk, 'other')).toBeUndefined()
})

contract('a table that does not exist is not found', async () => {
  const error = await refusal(transact({ Put: { TableName: 'no-such-table', Item: { pk: 'a', sk: 'b' } } }))
  expect(error.name).toBe('ResourceNotFoundException')
})

contract('TransactGetItems returns items in order, and nothing for a missing one', async () => {
  const pk = t.partition()
  await put({ pk, sk: 'a', n: 1 })
  await put({ pk, sk: 'b', n: 2 })
  const answer = await t.doc.send(
    new TransactGetCommand({
      TransactItems: ['b', 'absent', 'a'].map((sk) => ({ Get: { TableName: t.table, Key: { pk, sk } } })),
    }),
  )
  const found = answer.Responses?.map(({ Item }) => Item)
  expect(found).toEqual([{ pk, sk: 'b', n: 2 }, undefined, { pk, sk: 'a', n: 1 }])
})

contract('TransactGetItems returns the attributes that are asked for', async () => {
  const pk = t.partition()
  await put({ pk, sk: 'a', n: 1, extra: 'x' })
  const Get = {
    TableName: t.table,
    Key: { pk, sk: 'a' },
    ProjectionExpression: '#n',
    ExpressionAttributeNames: { '#n': 'n' },
  }
  const answer = await t.doc.send(new TransactGetCommand({ TransactItems: [{ Get }] }))
  expect(answer.Responses?.map(({ Item }) => Item)).toEqual([{ n: 1 }])
})

contract('a transaction consumes two write units for each KB begun', async () => {
  const pk = t.partition()
  const answer = await t.doc.send(
    new TransactWriteCommand({
      TransactItems: [
        { Put: { TableName: t.table, Item: { pk, sk: 'large', body: 'x'.repeat(1500) } } },
        { ConditionCheck: { TableName: t.table, Key: { pk, sk: 'none' }, ConditionExpression: NEW } },
      ],
      ReturnConsumedCapacity: 'TOTAL',
    }),
  )
  expect(answer.ConsumedCapacity).toMatchObject([{ TableName: t.table, CapacityUnits: 6 }])
})
