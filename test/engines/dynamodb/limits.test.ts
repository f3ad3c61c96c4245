import { PutItemCommand } from '@aws-sdk/client-dynamodb'
import { GetCommand, PutCommand, TransactGetCommand, TransactWriteCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect } from 'vitest'
import { contract, isInvalid, itemOfSize, useTable } from './engine.ts'

const t = useTable()

const MAX_ITEM = 409_600
const MAX_TRANSACTION = 4_194_304

const put = (Item: { [attribute: string]: unknown }) => t.doc.send(new PutCommand({ TableName: t.table, Item }))
const transactPuts = (items: { [attribute: string]: unknown }[]) =>
  t.doc.send(new TransactWriteCommand({ TransactItems: items.map((Item) => ({ Put: { TableName: t.table, Item } })) }))
const stored = async (pk: string, sk: string) =>
  (await t.doc.send(new GetCommand({ TableName: t.table, Key: { pk, sk }, ConsistentRead: true }))).Item

describe('an item has at most 400 KB', () => {
  contract('give or take a few', async () => {
    const pk = t.partition()
    await put(itemOfSize(pk, 'below', 400_000))
    expect(await isInvalid(put(itemOfSize(pk, 'above', 420_000)))).toBe(true)
    expect(await isInvalid(transactPuts([itemOfSize(pk, 'above', 420_000)]))).toBe(true)
    expect(await stored(pk, 'above')).toBeUndefined()
  })

  contract('when put', async () => {
    const pk = t.partition()
    await put(itemOfSize(pk, 'at', MAX_ITEM))
    expect(await isInvalid(put(itemOfSize(pk, 'over', MAX_ITEM + 1)))).toBe(true)
    expect(await stored(pk, 'over')).toBeUndefined()
  })

  contract('when put in a transaction', async () => {
    const pk = t.partition()
    await transactPuts([itemOfSize(pk, 'at', MAX_ITEM)])
    expect(await isInvalid(transactPuts([{ pk, sk: 'fine' }, itemOfSize(pk, 'over', MAX_ITEM + 1)]))).toBe(true)
    expect(await stored(pk, 'fine')).toBeUndefined()
  })

  const grow = (pk: string, sk: string, bytes: number) => ({
    TableName: t.table,
    Key: { pk, sk },
    UpdateExpression: 'SET more = :more',
    ExpressionAttributeValues: { ':more': 'y'.repeat(bytes - 'more'.length) },
  })

  contract('after an update', async () => {
    const pk = t.partition()
    await put(itemOfSize(pk, 'a', MAX_ITEM - 100))
    await t.doc.send(new UpdateCommand(grow(pk, 'a', 100)))
    expect(await isInvalid(t.doc.send(new UpdateCommand(grow(pk, 'a', 101))))).toBe(true)
    expect((await stored(pk, 'a'))?.more).toHaveLength(96)
  })

  contract('after an update in a transaction', async () => {
    const pk = t.partition()
    await put(itemOfSize(pk, 'a', MAX_ITEM - 100))
    const update = (bytes: number) =>
      t.doc.send(new TransactWriteCommand({ TransactItems: [{ Update: grow(pk, 'a', bytes) }] }))
    await update(100)
    expect(await isInvalid(update(101))).toBe(true)
    expect((await stored(pk, 'a'))?.more).toHaveLength(96)
  })

  contract('counting UTF-8 bytes, of names too', async () => {
    const pk = t.partition()
    const fixed = Buffer.byteLength(`pk${pk}sk€`)
    const item = (bytes: number) => ({ pk, sk: '€', 名: '€'.repeat(100_000) + 'x'.repeat(bytes - fixed - 300_003) })
    await put(item(MAX_ITEM))
    expect(await isInvalid(put(item(MAX_ITEM + 1)))).toBe(true)
  })

  contract('counting each type by its rule', async () => {
    const pk = t.partition()
    // 1 for the boolean, 1 for null, 3 + 1 + 1 for the list, 3 + 1 + 1 + 1 for the map, 2 for the number, 3 for the bytes.
    const typed = { b: true, n: null, l: [false], m: { k: null }, i: 42, r: new Uint8Array(3), s: new Set(['ab', 'c']) }
    const size = 'bnlmirs'.length + 1 + 1 + 5 + 6 + 2 + 3 + 3
    await put({ ...itemOfSize(pk, 'at', MAX_ITEM - size), ...typed })
    expect(await isInvalid(put({ ...itemOfSize(pk, 'over', MAX_ITEM - size + 1), ...typed }))).toBe(true)
  })
})

describe('keys', () => {
  const KEYS: [string, (partition: string) => { pk: string; sk: string }][] = [
    ['empty partition key', () => ({ pk: '', sk: 'a' })],
    ['empty sort key', (pk) => ({ pk, sk: '' })],
    ['partition key of 2,049 bytes', (pk) => ({ pk: pk.padEnd(2049, 'k'), sk: 'a' })],
    ['sort key of 1,025 bytes', (pk) => ({ pk, sk: 'k'.repeat(1025) })],
    ['partition key of 2,049 bytes in UTF-8', (pk) => ({ pk: `${pk.padEnd(2046, 'k')}€`, sk: 'a' })],
    ['sort key of 1,025 bytes in UTF-8', (pk) => ({ pk, sk: `${'€'.repeat(341)}kk` })],
  ]
  const update = (Key: { pk: string; sk: string }) => ({
    TableName: t.table,
    Key,
    UpdateExpression: 'SET a = :a',
    ExpressionAttributeValues: { ':a': 1 },
  })
  const OPERATIONS: [string, (Key: { pk: string; sk: string }) => Promise<unknown>][] = [
    ['put', (Key) => put(Key)],
    ['read', (Key) => t.doc.send(new GetCommand({ TableName: t.table, Key }))],
    ['updated', (Key) => t.doc.send(new UpdateCommand(update(Key)))],
    ['put in a transaction', (Key) => transactPuts([Key])],
    [
      'updated in a transaction',
      (Key) => t.doc.send(new TransactWriteCommand({ TransactItems: [{ Update: update(Key) }] })),
    ],
  ]
  for (const [name, key] of KEYS) {
    for (const [verb, operation] of OPERATIONS) {
      contract(`${name}: cannot be ${verb}`, async () => {
        expect(await isInvalid(operation(key(t.partition())))).toBe(true)
      })
    }
  }

  contract('at their limits of 2,048 and 1,024 bytes are stored', async () => {
    const key = { pk: `${t.partition().padEnd(2045, 'k')}€`, sk: `${'€'.repeat(341)}k` }
    await put({ ...key, n: 1 })
    expect(await stored(key.pk, key.sk)).toEqual({ ...key, n: 1 })
  })

  contract('that do not match the schema are refused', async () => {
    const pk = t.partition()
    expect(await isInvalid(put({ pk }))).toBe(true)
    expect(await isInvalid(put({ pk, sk: 1 }))).toBe(true)
    expect(await isInvalid(transactPuts([{ pk }]))).toBe(true)
    expect(await isInvalid(t.doc.send(new GetCommand({ TableName: t.table, Key: { pk } })))).toBe(true)
    const update = {
      TableName: t.table,
      Key: { pk, sk: 'a' },
      UpdateExpression: 'SET sk = :a',
      ExpressionAttributeValues: { ':a': 'b' },
    }
    expect(await isInvalid(t.doc.send(new UpdateCommand(update)))).toBe(true)
    expect(await isInvalid(t.doc.send(new TransactWriteCommand({ TransactItems: [{ Update: update }] })))).toBe(true)
  })
})

describe('a transaction', () => {
  const items = (pk: string, count: number) => Array.from({ length: count }, (_, i) => ({ pk, sk: `item-${i}` }))

  contract('writes at most 100 items', async () => {
    const pk = t.partition()
    await transactPuts(items(pk, 100))
    expect(await isInvalid(transactPuts(items(pk, 101)))).toBe(true)
  })

  contract('writes something', async () => {
    expect(await isInvalid(transactPuts([]))).toBe(true)
  })

  contract('reads 1 to 100 items', async () => {
    const gets = (count: number) => {
      const TransactItems = items('none', count).map((Key) => ({ Get: { TableName: t.table, Key } }))
      return t.doc.send(new TransactGetCommand({ TransactItems }))
    }
    expect((await gets(100)).Responses).toHaveLength(100)
    expect(await isInvalid(gets(101))).toBe(true)
    expect(await isInvalid(gets(0))).toBe(true)
  })

  contract('has at most 4 MB of items', async () => {
    const pk = t.partition()
    const large = (bytes: number) => [
      ...Array.from({ length: 10 }, (_, i) => itemOfSize(pk, `item-${i}`, MAX_ITEM)),
      itemOfSize(pk, 'last', bytes - 10 * MAX_ITEM),
    ]
    expect(await isInvalid(transactPuts(large(MAX_TRANSACTION + 1)))).toBe(true)
    expect(await stored(pk, 'last')).toBeUndefined()
    await transactPuts(large(MAX_TRANSACTION))
    expect(await stored(pk, 'last')).toBeDefined()
  })

  contract('needs an update expression to update and a condition to check', async () => {
    const Key = { pk: t.partition(), sk: 'a' }
    const check = { TableName: t.table, Key, ConditionExpression: undefined }
    const update = { TableName: t.table, Key, UpdateExpression: undefined }
    expect(await isInvalid(t.doc.send(new TransactWriteCommand({ TransactItems: [{ ConditionCheck: check }] })))).toBe(
      true,
    )
    expect(await isInvalid(t.doc.send(new TransactWriteCommand({ TransactItems: [{ Update: update }] })))).toBe(true)
  })

  contract('has one action in each member', async () => {
    const Item = { pk: t.partition(), sk: 'a' }
    const both = { Put: { TableName: t.table, Item }, Delete: { TableName: t.table, Key: Item } }
    expect(await isInvalid(t.doc.send(new TransactWriteCommand({ TransactItems: [both] })))).toBe(true)
    expect(await isInvalid(t.doc.send(new TransactWriteCommand({ TransactItems: [{}] })))).toBe(true)
  })
})

describe('expressions', () => {
  const conditional = (input: Partial<ConstructorParameters<typeof PutCommand>[0]>) => {
    const Item = { pk: t.partition(), sk: 'a' }
    return {
      alone: () => t.doc.send(new PutCommand({ TableName: t.table, Item, ...input })),
      transacted: () =>
        t.doc.send(
          new TransactWriteCommand({
            TransactItems: [{ Put: { TableName: t.table, Item, ...input } }],
          }),
        ),
    }
  }
  const refused = async (input: Partial<ConstructorParameters<typeof PutCommand>[0]>) => {
    const { alone, transacted } = conditional(input)
    return [await isInvalid(alone()), await isInvalid(transacted())]
  }

  contract('with an unused name are refused', async () => {
    const ConditionExpression = 'attribute_not_exists(pk)'
    expect(await refused({ ConditionExpression, ExpressionAttributeNames: { '#a': 'a' } })).toEqual([true, true])
  })

  contract('with an unused value are refused', async () => {
    const ConditionExpression = 'attribute_not_exists(pk)'
    expect(await refused({ ConditionExpression, ExpressionAttributeValues: { ':a': 1 } })).toEqual([true, true])
  })

  contract('with an undefined name or value are refused', async () => {
    expect(await refused({ ConditionExpression: 'attribute_not_exists(#a)' })).toEqual([true, true])
    expect(await refused({ ConditionExpression: 'a <> :a' })).toEqual([true, true])
  })

  contract('with a syntax error or a reserved word are refused', async () => {
    expect(await refused({ ConditionExpression: 'attribute_not_exists(pk' })).toEqual([true, true])
    expect(await refused({ ConditionExpression: 'name <> :a', ExpressionAttributeValues: { ':a': 1 } })).toEqual([
      true,
      true,
    ])
  })

  contract('have at most 4 KB', async () => {
    const condition = (length: number) => ({ ConditionExpression: `attribute_not_exists(${'a'.repeat(length - 22)})` })
    await conditional(condition(255)).alone()
    const padded = (length: number) => ({ ConditionExpression: 'attribute_not_exists(pk)'.padEnd(length, ' ') })
    await conditional(padded(4096)).alone()
    expect(await refused(padded(4097))).toEqual([true, true])
  })
})

describe('expression values', () => {
  contract('have at most 2 MB together', async () => {
    const check = (bytes: number) => ({
      ConditionExpression: 'a <> :a',
      ExpressionAttributeValues: { ':a': 'x'.repeat(bytes - ':a'.length) },
    })
    const put = (bytes: number) =>
      t.doc.send(new PutCommand({ TableName: t.table, Item: { pk: t.partition(), sk: 'a' }, ...check(bytes) }))
    await put(2_097_152)
    expect(await isInvalid(put(2_097_153))).toBe(true)
  })

  contract('under 2 MB may be larger than an item', async () => {
    const input = {
      ConditionExpression: 'a <> :a',
      ExpressionAttributeValues: { ':a': 'x'.repeat(1_000_000) },
    }
    await t.doc.send(new PutCommand({ TableName: t.table, Item: { pk: t.partition(), sk: 'a' }, ...input }))
  })
})

describe('values', () => {
  const N = (number: string) => {
    const Item = { pk: { S: t.partition() }, sk: { S: 'a' }, n: { N: number } }
    return t.client.send(new PutItemCommand({ TableName: t.table, Item }))
  }

  contract('numbers have at most 38 digits and a bounded magnitude', async () => {
    await N('9'.repeat(38))
    expect(await isInvalid(N('9'.repeat(39)))).toBe(true)
    await N('9.9E+125')
    expect(await isInvalid(N('1E+126'))).toBe(true)
    await N('1E-130')
    expect(await isInvalid(N('1E-131'))).toBe(true)
    expect(await isInvalid(N('one'))).toBe(true)
  })

  contract('nest at most 32 levels', async () => {
    const nested = (levels: number) => {
      let value: unknown = 'leaf'
      for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { value }
      return { pk: t.partition(), sk: 'a', value }
    }
    await put(nested(32))
    expect(await isInvalid(put(nested(33)))).toBe(true)
    await transactPuts([nested(32)])
    expect(await isInvalid(transactPuts([nested(33)]))).toBe(true)
  })

  contract('may be empty strings and bytes where they are not keys', async () => {
    const item = { pk: t.partition(), sk: 'a', text: '', bytes: new Uint8Array(0), list: [], map: {} }
    await put(item)
    expect(await stored(item.pk, 'a')).toEqual(item)
  })

  contract('must not be empty sets', async () => {
    const Item = { pk: { S: t.partition() }, sk: { S: 'a' }, set: { SS: [] } }
    expect(await isInvalid(t.client.send(new PutItemCommand({ TableName: t.table, Item })))).toBe(true)
  })
})
