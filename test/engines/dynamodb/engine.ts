import { randomUUID } from 'node:crypto'
import { type AttributeValue, DeleteTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { afterAll, beforeAll, test } from 'vitest'
import { type LocalDynamoDb, startDynamoDb } from '../../../local/dynamodb/index.ts'
import { connect, createTable } from './engine-client.ts'

/** Tests that an independent engine fails because it differs from DynamoDB's documentation, with what it does instead. */
const DEVIATIONS: { [engine: string]: { [test: string]: string } } = {
  moto: {
    'a batch of no or of 26 writes is refused': 'accepts an empty batch of writes',
    '25 writes is the limit over all tables of a batch': 'counts the writes of each table by itself',
    'a refused batch of writes changes nothing': 'applies the writes before the refused one',
    'a batch of writes takes 25 items of 400 KB': 'counts 400 KB as 405,000 bytes',
    'a batch reads no empty key': 'finds nothing under an empty key',
    'a batch of reads ends at 16 MB and names the keys that it left, with their projection':
      'answers the keys that it left without their projection',
    'two missing attributes are not equal': 'holds two missing attributes for equal',
    'a time to live cannot be enabled twice': 'enables it again',
    'when put': 'counts 400 KB as 405,000 bytes',
    'when put in a transaction': 'counts 400 KB as 405,000 bytes',
    'after an update': 'counts 400 KB as 405,000 bytes',
    'after an update in a transaction': 'counts 400 KB as 405,000 bytes',
    'counting UTF-8 bytes, of names too': 'counts 400 KB as 405,000 bytes',
    'counting each type by its rule': 'counts 400 KB as 405,000 bytes',
    'has at most 4 MB of items': 'counts 400 KB as 405,000 bytes',
    'empty partition key: cannot be updated': 'creates an item with an empty key',
    'empty sort key: cannot be updated': 'creates an item with an empty key',
    'partition key of 2,049 bytes: cannot be read': 'does not check the length of a key that it reads',
    'sort key of 1,025 bytes: cannot be read': 'does not check the length of a key that it reads',
    'partition key of 2,049 bytes in UTF-8: cannot be read': 'does not check the length of a key that it reads',
    'sort key of 1,025 bytes in UTF-8: cannot be read': 'does not check the length of a key that it reads',
    'that do not match the schema are refused': 'cancels a transaction with the reason KeyError',
    'writes something': 'accepts an empty transaction',
    'reads 1 to 100 items': 'reads at most 25 items, the limit before 2022',
    'needs an update expression to update and a condition to check': 'accepts a check without a condition',
    'has one action in each member': 'fails with an internal error',
    'with an unused value are refused': 'accepts an unused value',
    'with an undefined name or value are refused': 'fails with an internal error',
    'with a syntax error or a reserved word are refused': 'fails with an internal error',
    'have at most 4 KB': 'does not limit expressions',
    'numbers have at most 38 digits and a bounded magnitude': 'stores any number',
    'have at most 2 MB together': 'does not limit expression values',
    'nest at most 32 levels': 'does not limit nesting',
    'a query without a partition key, or filtering on a key, is refused': 'filters on a key',
    'a repeated token with the same parameters succeeds without applying again': 'does not keep ClientRequestTokens',
    'a repeated token succeeds even where its condition would now fail': 'does not keep ClientRequestTokens',
    'a repeated token with other parameters is a mismatch': 'does not keep ClientRequestTokens',
    'the order of attributes does not matter to a token': 'does not keep ClientRequestTokens',
    'a token has 1 to 36 characters': 'does not keep ClientRequestTokens',
    'an update that cannot be carried out cancels with ValidationError': 'answers ValidationException without reasons',
    'TransactGetItems returns the attributes that are asked for': 'ignores the projection of a transaction',
    'a transaction consumes two write units for each KB begun': 'counts no capacity for transactions',
    'no reader sees a part of a transaction': 'does not keep parallel requests apart; undoing one undoes others',
    'of transactions that compete for one item exactly one wins each round, whole':
      'does not keep parallel requests apart; undoing one undoes others',
    'parallel increments are all counted': 'does not keep parallel requests apart; undoing one undoes others',
    'of parallel creations of one item exactly one succeeds':
      'does not keep parallel requests apart; undoing one undoes others',
  },
}

/** A test that every engine must pass, but for the listed deviations of the engine that SANDKEEP_ENGINE names. */
export function contract(name: string, run: () => Promise<void>): void {
  if (DEVIATIONS[process.env.SANDKEEP_ENGINE ?? '']?.[name] === undefined) test(name, run)
}

export interface TestTable {
  client: DynamoDBClient
  doc: DynamoDBDocumentClient
  table: string
  /** A partition key that no other test uses. */
  partition(): string
}

/** Gives a test file its own table on the engine of SANDKEEP_DYNAMODB_ENDPOINT, or else on an embedded one. */
export function useTable(): TestTable {
  let embedded: LocalDynamoDb | undefined
  const table = `contract-${randomUUID()}`
  let partitions = 0
  const context = { table, partition: () => `partition-${++partitions}` } as TestTable

  beforeAll(async () => {
    let endpoint = process.env.SANDKEEP_DYNAMODB_ENDPOINT
    if (endpoint === undefined) {
      embedded = await startDynamoDb()
      endpoint = embedded.endpoint
    }
    Object.assign(context, connect(endpoint))
    await createTable(context.client, table)
  })

  afterAll(async () => {
    await context.client.send(new DeleteTableCommand({ TableName: table }))
    context.client.destroy()
    await embedded?.stop()
  })

  return context
}

type WireItem = { [attribute: string]: AttributeValue }

/** What a refused request threw. */
export interface Refusal extends Error {
  Item?: { [attribute: string]: unknown }
  CancellationReasons?: { Code?: string; Message?: string; Item?: { [attribute: string]: unknown } }[]
}

/** The error of a request that must be refused. */
export async function refusal(request: Promise<unknown>): Promise<Refusal> {
  const error = await request.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Error)) throw new Error('The request was accepted')
  // The document client leaves the items of errors as they came.
  const result: Refusal = error
  if (result.Item) result.Item = unmarshall(result.Item as WireItem)
  for (const reason of result.CancellationReasons ?? []) {
    if (reason.Item) reason.Item = unmarshall(reason.Item as WireItem)
  }
  return result
}

/** The codes of a cancelled transaction's reasons, in order. */
export async function cancellation(request: Promise<unknown>): Promise<(string | undefined)[]> {
  const error = await refusal(request)
  if (error.name !== 'TransactionCanceledException') throw error
  return (error.CancellationReasons ?? []).map((reason) => reason.Code)
}

/**
 * True when the request is refused as invalid, by itself or as a cancelled transaction. The documentation leaves open which
 * of the two a rule of one action leads to.
 */
export async function isInvalid(request: Promise<unknown>): Promise<boolean> {
  const error = await refusal(request)
  if (error.name === 'ValidationException') return true
  const codes = (error.CancellationReasons ?? []).map((reason) => reason.Code)
  return error.name === 'TransactionCanceledException' && codes.includes('ValidationError')
}

/** An item of exactly `bytes` bytes by DynamoDB's rules. */
export function itemOfSize(pk: string, sk: string, bytes: number): { pk: string; sk: string; body: string } {
  const overhead = Buffer.byteLength(`pk${pk}sk${sk}body`)
  return { pk, sk, body: 'x'.repeat(bytes - overhead) }
}
