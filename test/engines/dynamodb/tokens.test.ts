import { PutItemCommand, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb'
import { GetCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { expect } from 'vitest'
import { contract, isInvalid, refusal, useTable } from './engine.ts'

const t = useTable()

const increment = (pk: string, by: number, ClientRequestToken: string) =>
  t.doc.send(
    new TransactWriteCommand({
      ClientRequestToken,
      TransactItems: [
        {
          Update: {
            TableName: t.table,
            Key: { pk, sk: 'counter' },
            UpdateExpression: 'ADD n :by',
            ExpressionAttributeValues: { ':by': by },
          },
        },
      ],
    }),
  )
const counter = async (pk: string) =>
  (await t.doc.send(new GetCommand({ TableName: t.table, Key: { pk, sk: 'counter' }, ConsistentRead: true }))).Item?.n

contract('a repeated token with the same parameters succeeds without applying again', async () => {
  const pk = t.partition()
  await increment(pk, 5, `same-${pk}`)
  await increment(pk, 5, `same-${pk}`)
  expect(await counter(pk)).toBe(5)
  await increment(pk, 5, `other-${pk}`)
  expect(await counter(pk)).toBe(10)
})

contract('a repeated token succeeds even where its condition would now fail', async () => {
  const pk = t.partition()
  const create = new TransactWriteCommand({
    ClientRequestToken: `create-${pk}`,
    TransactItems: [
      {
        Put: {
          TableName: t.table,
          Item: { pk, sk: 'counter', n: 1 },
          ConditionExpression: 'attribute_not_exists(pk)',
        },
      },
    ],
  })
  await t.doc.send(create)
  await t.doc.send(create)
  expect(await counter(pk)).toBe(1)
})

contract('a repeated token with other parameters is a mismatch', async () => {
  const pk = t.partition()
  await increment(pk, 1, `mismatch-${pk}`)
  const error = await refusal(increment(pk, 2, `mismatch-${pk}`))
  expect(error.name).toBe('IdempotentParameterMismatchException')
  expect(await counter(pk)).toBe(1)
})

contract('the order of attributes does not matter to a token', async () => {
  const pk = t.partition()
  const send = (Item: { [attribute: string]: { S: string } | { M: { [key: string]: { N: string } } } }) =>
    t.client.send(
      new TransactWriteItemsCommand({
        ClientRequestToken: `order-${pk}`,
        TransactItems: [{ Put: { TableName: t.table, Item } }],
      }),
    )
  await send({ pk: { S: pk }, sk: { S: 'counter' }, m: { M: { a: { N: '1' }, b: { N: '2' } } } })
  await send({ m: { M: { b: { N: '2' }, a: { N: '1' } } }, sk: { S: 'counter' }, pk: { S: pk } })
  const error = await refusal(send({ pk: { S: pk }, sk: { S: 'counter' }, m: { M: { a: { N: '2' }, b: { N: '1' } } } }))
  expect(error.name).toBe('IdempotentParameterMismatchException')
})

contract('the token of a cancelled transaction may be used again', async () => {
  const pk = t.partition()
  const once = () =>
    t.doc.send(
      new TransactWriteCommand({
        ClientRequestToken: `cancelled-${pk}`,
        TransactItems: [
          {
            Update: {
              TableName: t.table,
              Key: { pk, sk: 'counter' },
              UpdateExpression: 'ADD n :one',
              ConditionExpression: 'attribute_exists(pk)',
              ExpressionAttributeValues: { ':one': 1 },
            },
          },
        ],
      }),
    )
  expect((await refusal(once())).name).toBe('TransactionCanceledException')
  await t.client.send(
    new PutItemCommand({ TableName: t.table, Item: { pk: { S: pk }, sk: { S: 'counter' }, n: { N: '1' } } }),
  )
  await once()
  expect(await counter(pk)).toBe(2)
})

contract('a token has 1 to 36 characters', async () => {
  const pk = t.partition()
  const padded = (length: number) => pk.padEnd(length, '-')
  await increment(pk, 1, padded(36))
  expect(await isInvalid(increment(pk, 1, padded(37)))).toBe(true)
  expect(await isInvalid(increment(pk, 1, ''))).toBe(true)
  expect(await counter(pk)).toBe(1)
})
