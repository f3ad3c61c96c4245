import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { DescribeTimeToLiveCommand, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb'
import {
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
} from '@aws-sdk/lib-dynamodb'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startDynamoDb } from '../../../local/dynamodb/index.ts'
import { refusal } from './engine.ts'
import { connect, createTable } from './engine-client.ts'

// What only the embedded engine has: a folder, a clock to inject, and the process it can be killed with.

const TABLE = 'kill'
const MINUTE = 60_000

let dir: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'dynamodb-'))
})

afterEach(() => rm(dir, { recursive: true }))

/** Runs `work` against an engine that is stopped after it. */
async function running<T>(
  options: { dir?: string; now?: () => number },
  work: (clients: ReturnType<typeof connect>) => Promise<T>,
): Promise<T> {
  const engine = await startDynamoDb(options)
  const clients = connect(engine.endpoint)
  try {
    return await work(clients)
  } finally {
    clients.client.destroy()
    await engine.stop()
  }
}

const add = (doc: DynamoDBDocumentClient, token: string, by = 1) =>
  doc.send(
    new TransactWriteCommand({
      ClientRequestToken: token,
      TransactItems: [
        {
          Update: {
            TableName: TABLE,
            Key: { pk: 'a', sk: 'a' },
            UpdateExpression: 'ADD n :by',
            ExpressionAttributeValues: { ':by': by },
          },
        },
      ],
    }),
  )
const total = async (doc: DynamoDBDocumentClient) =>
  (await doc.send(new GetCommand({ TableName: TABLE, Key: { pk: 'a', sk: 'a' } }))).Item?.n

test('a second start on the folder finds tables, items, settings and tokens again', async () => {
  await running({ dir }, async ({ client, doc }) => {
    await createTable(client, TABLE)
    await doc.send(new PutCommand({ TableName: TABLE, Item: { pk: 'p', sk: 's', text: 'kept' } }))
    await add(doc, 'token', 5)
    const TimeToLiveSpecification = { AttributeName: 'expires', Enabled: true }
    await client.send(new UpdateTimeToLiveCommand({ TableName: TABLE, TimeToLiveSpecification }))
  })
  await running({ dir }, async ({ client, doc }) => {
    const answer = await doc.send(new GetCommand({ TableName: TABLE, Key: { pk: 'p', sk: 's' } }))
    expect(answer.Item).toEqual({ pk: 'p', sk: 's', text: 'kept' })
    const settings = await client.send(new DescribeTimeToLiveCommand({ TableName: TABLE }))
    expect(settings.TimeToLiveDescription?.AttributeName).toBe('expires')
    await add(doc, 'token', 5)
    expect(await total(doc)).toBe(5)
    expect((await refusal(add(doc, 'token', 6))).name).toBe('IdempotentParameterMismatchException')
  })
})

test('requests on a folder are kept apart as they are in memory', async () => {
  await running({ dir }, async ({ client, doc }) => {
    await createTable(client, TABLE)
    await add(doc, 'first', 0)
    const move = (from: number, token: string) =>
      doc.send(
        new TransactWriteCommand({
          ClientRequestToken: token,
          TransactItems: [
            {
              Update: {
                TableName: TABLE,
                Key: { pk: 'a', sk: 'a' },
                UpdateExpression: 'SET n = :next',
                ConditionExpression: 'n = :from',
                ExpressionAttributeValues: { ':from': from, ':next': from + 1 },
              },
            },
          ],
        }),
      )
    for (let from = 0; from < 20; from++) {
      const results = await Promise.allSettled([1, 2, 3, 4].map((writer) => move(from, `${from}-${writer}`)))
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    }
  })
})

test('a folder in use is refused, and so is a port in use', async () => {
  await running({ dir }, async () => {
    await expect(startDynamoDb({ dir })).rejects.toThrow()
  })
  const first = await startDynamoDb()
  await expect(startDynamoDb({ port: first.port, dir })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  await first.stop()
  await running({ dir }, async () => undefined)
})

test('a token answers for ten minutes after completion and then is forgotten', async () => {
  let now = 1_000_000
  await running({ now: () => now }, async ({ client, doc }) => {
    await createTable(client, TABLE)
    await add(doc, 'token')
    now += 10 * MINUTE - 1
    await add(doc, 'token')
    expect(await total(doc)).toBe(1)
    now += 1
    await add(doc, 'token')
    expect(await total(doc)).toBe(2)
    await add(doc, 'token')
    expect(await total(doc)).toBe(2)
    now += 10 * MINUTE
    await add(doc, 'token', 7)
    expect(await total(doc)).toBe(9)
  })
})

describe('requests that no client library sends', () => {
  const send = async (target: string, body: string, headers: { [name: string]: string } = {}) => {
    const engine = await startDynamoDb()
    try {
      const response = await fetch(engine.endpoint, {
        method: 'POST',
        headers: {
          'x-amz-target': `DynamoDB_20120810.${target}`,
          authorization: 'AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=0',
          ...headers,
        },
        body,
      })
      const answer = (await response.json()) as { __type: string }
      return [response.status, answer.__type.split('#')[1]]
    } finally {
      await engine.stop()
    }
  }

  test('are refused with 400', async () => {
    expect(await send('PutItem', 'not json')).toEqual([400, 'SerializationException'])
    expect(await send('PutItem', '[]')).toEqual([400, 'SerializationException'])
    expect(await send('PutItem', '{}')).toEqual([400, 'ValidationException'])
    expect(await send('NoSuchOperation', '{}')).toEqual([400, 'UnknownOperationException'])
    expect(await send('PutItem', '{"TableName":"kill","Item":{"a":{"L":[null]}}}')).toEqual([
      400,
      'SerializationException',
    ])
    const update = { TableName: 'kill', Key: {}, UpdateExpression: 'ADD s :s' }
    const values = { ExpressionAttributeValues: { ':s': { SS: [null] } } }
    expect(await send('UpdateItem', JSON.stringify({ ...update, ...values }))).toEqual([400, 'SerializationException'])
    for (const items of ['null', '[null]', '[{}]', '[{"Put":null}]', '[{"Put":[]}]', '[{"Nothing":{}}]']) {
      expect(await send('TransactWriteItems', `{"TransactItems":${items}}`)).toEqual([400, 'ValidationException'])
    }
    expect(await send('TransactWriteItems', '{"TransactItems":{}}')).toEqual([400, 'SerializationException'])
    expect(await send('BatchGetItem', '{"RequestItems":{"kill":null}}')).toEqual([400, 'SerializationException'])
    expect(await send('BatchGetItem', '{"RequestItems":"kill"}')).toEqual([400, 'SerializationException'])
    expect(await send('BatchWriteItem', '{"RequestItems":{"kill":[null]}}')).toEqual([400, 'SerializationException'])
    expect(await send('UpdateTimeToLive', '{}')).toEqual([400, 'SerializationException'])
    expect(await send('PutItem', '{}', { authorization: '' })).toEqual([400, 'MissingAuthenticationTokenException'])
  })

  test('over 16 MB are refused with 413', async () => {
    expect(await send('PutItem', JSON.stringify('x'.repeat(16 * 1024 * 1024)))).toEqual([
      413,
      'RequestEntityTooLargeException',
    ])
  })
})

describe('a killed process', () => {
  const writer = fileURLToPath(new URL('writer.ts', import.meta.url))

  /** Runs the writer and kills it when it has completed `count` transactions; returns their numbers. */
  async function killAfter(count: number, first: number): Promise<number[]> {
    const child = spawn(process.execPath, [writer, dir, String(first)], { stdio: ['ignore', 'pipe', 'inherit'] })
    const completed: number[] = []
    for await (const line of createInterface(child.stdout)) {
      completed.push(Number(line))
      if (completed.length === count) child.kill('SIGKILL')
    }
    expect(child.signalCode ?? (await new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal))))).toBe(
      'SIGKILL',
    )
    return completed
  }

  test('leaves each transaction whole or absent, and every answered one whole', async () => {
    await running({ dir }, ({ client }) => createTable(client, TABLE))
    let seed = 20_261
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    let first = 0
    for (let kill = 0; kill < 6; kill++) {
      const completed = await killAfter(1 + random(30), first)
      const last = Math.max(...completed)
      await running({ dir }, async ({ doc }) => {
        // Up to three transactions were under way beyond the last answered one.
        for (let number = first; number <= last + 3; number++) {
          const { Count } = await doc.send(
            new QueryCommand({
              TableName: TABLE,
              KeyConditionExpression: 'pk = :pk',
              ExpressionAttributeValues: { ':pk': `transaction-${number}` },
            }),
          )
          if (completed.includes(number)) expect(Count).toBe(4)
          else expect([0, 4]).toContain(Count)
        }
      })
      first = last + 4
    }
  })
})
