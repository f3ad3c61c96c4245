import { createHash } from 'node:crypto'
import { type AttributeValue, type DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb'
import { ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3'
import type { Engines } from '../../../support/engines.ts'

const reads = /^(Get|BatchGet|TransactGet|Query|Scan|Head|List)/

/** Sees which writes of the clients were carried out. */
export class WriteWatch {
  readonly #done: string[] = []

  constructor({ dynamodb, s3 }: Pick<Engines, 'dynamodb' | 's3'>) {
    for (const client of [dynamodb, s3 as unknown as DynamoDBClient]) {
      client.middlewareStack.add(
        (next, { commandName = '' }) =>
          async (args) => {
            const result = await next(args)
            // Presigning runs a command without sending it.
            const sent = (result.response as { statusCode?: number } | undefined)?.statusCode !== undefined
            if (sent && !reads.test(commandName)) this.#done.push(`${commandName} ${objectOf(args.input)}`.trim())
            return result
          },
        { step: 'initialize', name: 'watchWrites' },
      )
    }
  }

  /** What was written since this was asked last, without objects that were put and removed again. */
  take(): string[] {
    const done = this.#done.splice(0)
    const removed = new Set(done.flatMap((write) => write.match(/^DeleteObjectCommand (.+)/)?.[1] ?? []))
    return done.filter((write) => !removed.has(write.replace(/^(Put|Delete)ObjectCommand /, '')))
  }
}

function objectOf(input: unknown): string {
  const { Key } = input as { Key?: unknown }
  return typeof Key === 'string' ? Key : ''
}

/** Where everything is that is stored. */
export type Stored = Pick<Engines, 'dynamodb' | 's3' | 'tableName' | 'bucketName'>

/** A hash of every item of the table and every object of the bucket. */
export async function digestOf({ dynamodb, s3, tableName, bucketName }: Stored): Promise<string> {
  const hash = createHash('sha256')
  for (const line of [...(await items(dynamodb, tableName)), ...(await objects(s3, bucketName))].sort())
    hash.update(line)
  return hash.digest('hex')
}

async function items(dynamodb: DynamoDBClient, TableName: string): Promise<string[]> {
  const lines: string[] = []
  let ExclusiveStartKey: Record<string, AttributeValue> | undefined
  do {
    const page = await dynamodb.send(new ScanCommand({ TableName, ExclusiveStartKey, ConsistentRead: true }))
    for (const item of page.Items ?? []) lines.push(JSON.stringify(Object.entries(item).sort(byName), bytesAsText))
    ExclusiveStartKey = page.LastEvaluatedKey
  } while (ExclusiveStartKey)
  return lines
}

function byName([left]: [string, unknown], [right]: [string, unknown]): number {
  return left < right ? -1 : 1
}

function bytesAsText(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}

async function objects(s3: S3Client, Bucket: string): Promise<string[]> {
  const lines: string[] = []
  let ContinuationToken: string | undefined
  do {
    const page = await s3.send(new ListObjectsV2Command({ Bucket, ContinuationToken }))
    for (const { Key, ETag } of page.Contents ?? []) lines.push(`${Key} ${ETag}`)
    ContinuationToken = page.NextContinuationToken
  } while (ContinuationToken)
  return lines
}
