import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import type { HttpRequest } from '@smithy/protocol-http'
import { blobObjectPrefix } from '../src/blobs/object-keys.ts'
import { META_ATTRIBUTES } from '../src/checkpoints/read.ts'
import { requestCost } from '../src/sweep/cost.ts'
import { sweepScope } from '../src/sweep/scope-sweep.ts'
import { Versions } from '../src/sweep/versions.ts'
import { SHARDS, shardPartition } from '../src/table/keys.ts'
import { Table } from '../src/table/table.ts'
import { SyntheticLists } from './sweep-lists.ts'

/**
 * Run by the sweep's benchmark in a process of its own: sweeps a scope, or only pages through the same lists, and
 * prints what that took. `BENCH_SWEEP` is what to do, as JSON.
 */
export interface SweepTask {
  what: 'sweep' | 'page'
  synthetic: boolean
  tenant: string
  tableName: string
  bucketName: string
  dynamodbEndpoint: string
  s3Endpoint: string
}

export interface SweepOutcome {
  ms: number
  listed: number
  referenced: number
  deleted: number
  lists: number
  deletes: number
  /** Requests to the table. */
  requests: number
  readUnits: number
  costUsd: number
}

const task = JSON.parse(process.env.BENCH_SWEEP ?? '') as SweepTask
const scope = { tenant: task.tenant, project: 'project' }
const common = { region: 'us-east-1', credentials: { accessKeyId: 'test-key', secretAccessKey: 'test-secret' } }
const s3Config = { ...common, endpoint: task.s3Endpoint, forcePathStyle: true } satisfies S3ClientConfig
const dynamodbConfig = { ...common, endpoint: task.dynamodbEndpoint } satisfies DynamoDBClientConfig
const lists = new SyntheticLists(scope, blobObjectPrefix(scope))
const s3 = task.synthetic ? new S3Client({ ...s3Config, ...synthetic(new S3Client(s3Config)) }) : new S3Client(s3Config)
const dynamodb = task.synthetic
  ? new DynamoDBClient({ ...dynamodbConfig, ...synthetic(new DynamoDBClient(dynamodbConfig)) })
  : new DynamoDBClient(dynamodbConfig)
const meter = { requests: 0, readUnits: 0, writeUnits: 0 }
const table = new Table(dynamodb, task.tableName, meter)
const stores = { table, s3, bucketName: task.bucketName, scope }

const start = performance.now()
const done = task.what === 'sweep' ? await sweep() : await pageOnly()
const outcome: SweepOutcome = {
  ms: performance.now() - start,
  ...done,
  ...{ requests: meter.requests, readUnits: meter.readUnits, costUsd: requestCost({ ...meter, lists: done.lists }) },
}
process.stdout.write(JSON.stringify(outcome))
process.exit()

async function sweep() {
  // A day ahead of all uploads.
  const now = () => Date.now() + 86_400_000
  const { counts, lists, deletes } = await sweepScope({ ...stores, now, olderThanMs: 0, dryRun: false, waitMs: 0 })
  const { listed, referenced, deleted } = counts
  return { listed, referenced, deleted, lists, deletes }
}

async function pageOnly() {
  const versions = new Versions(s3, task.bucketName, blobObjectPrefix(scope))
  let listed = 0
  for await (const page of versions.list()) listed += page.length
  for (const shard of SHARDS) {
    const attributes = [...META_ATTRIBUTES, 'keys']
    for await (const items of table.query(shardPartition(scope, shard), { attributes })) void items.length
  }
  return { listed, referenced: 0, deleted: 0, lists: versions.lists, deletes: 0 }
}

/** A client's own way to send, for all that the synthetic lists do not answer. */
function synthetic({ config: { requestHandler } }: S3Client | DynamoDBClient) {
  return {
    requestHandler: {
      ...requestHandler,
      metadata: requestHandler.metadata,
      destroy: () => requestHandler.destroy?.(),
      handle: async (request: HttpRequest, options: object) => {
        const response = lists.answer(request)
        return response ? { response } : requestHandler.handle(request, options)
      },
    },
  } as Pick<S3ClientConfig & DynamoDBClientConfig, 'requestHandler'>
}
