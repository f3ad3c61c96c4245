import { randomBytes } from 'node:crypto'
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { CreateBucketCommand, PutBucketVersioningCommand, S3Client } from '@aws-sdk/client-s3'
import { startDynamoDb } from '../../local/dynamodb/index.ts'
import { startS3 } from '../../local/s3/index.ts'
import { createTableInput } from '../../src/table/schema.ts'
import type { Scope } from '../../src/tenancy/scope.ts'

export interface Engines {
  dynamodb: DynamoDBClient
  s3: S3Client
  tableName: string
  bucketName: string
  /** A scope that nothing has used yet: as good as an empty table and bucket, at no cost. */
  freshScope(): Scope
  /** Ends the clients and the embedded engines. */
  stop(): Promise<void>
}

const region = 'us-east-1'
const credentials = { accessKeyId: 'test-key', secretAccessKey: 'test-secret' }

/**
 * A table and a bucket with fresh names on the engines at SANDKEEP_DYNAMODB_ENDPOINT and SANDKEEP_S3_ENDPOINT, or on
 * embedded ones in memory for each that is not set.
 */
export async function startEngines(): Promise<Engines> {
  const name = `sandkeep-test-${randomBytes(6).toString('hex')}`
  const table = await endpointOr('SANDKEEP_DYNAMODB_ENDPOINT', () => startDynamoDb({ port: 0 }))
  const bucket = await endpointOr('SANDKEEP_S3_ENDPOINT', () => startS3({ port: 0, credentials, region, buckets: [] }))
  const dynamodb = new DynamoDBClient({ endpoint: table.endpoint, region, credentials })
  const s3 = new S3Client({
    endpoint: bucket.endpoint,
    region,
    credentials,
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
  })
  await dynamodb.send(new CreateTableCommand(createTableInput(name)))
  await s3.send(new CreateBucketCommand({ Bucket: name }))
  await s3.send(new PutBucketVersioningCommand({ Bucket: name, VersioningConfiguration: { Status: 'Enabled' } }))

  let scopes = 0
  return {
    dynamodb,
    s3,
    tableName: name,
    bucketName: name,
    freshScope: () => {
      scopes += 1
      return { tenant: `tenant-${scopes}`, project: 'project' }
    },
    stop: async () => {
      dynamodb.destroy()
      s3.destroy()
      await Promise.all([table.stop(), bucket.stop()])
    },
  }
}

interface Engine {
  endpoint: string
  stop(): Promise<void>
}

async function endpointOr(variable: string, start: () => Promise<Engine>): Promise<Engine> {
  const endpoint = process.env[variable]
  return endpoint ? { endpoint, stop: async () => undefined } : start()
}
