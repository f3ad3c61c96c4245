import { randomUUID } from 'node:crypto'
import { type AttributeValue, DeleteTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { afterAll, beforeAll, test } from 'vitest'
import { type LocalDynamoDb, startDynamoDb } from '../../../local/dynamodb/index.ts'
import { connect, createTable } from './engine-client.ts'

/** Tests that an independent engine fails because it differs from DynamoDB's documentation, with what it does instead. */
const DEVIATIONS: { [engine: string]: { [test: string]: string } } = {
  moto: {},
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
