import { type AttributeValue, QueryCommand, type QueryCommandOutput } from '@aws-sdk/client-dynamodb'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import pMap from 'p-map'
import { bodyObjectKey } from '../src/blobs/object-keys.ts'
import { type CheckpointStore, createCheckpointStore } from '../src/checkpoints/store.ts'
import { threadKey } from '../src/table/keys.ts'
import type { Scope } from '../src/tenancy/scope.ts'
import { hashText } from '../src/text.ts'
import { type Engines, startEngines } from '../test/support/engines.ts'
import { atMost, type BenchResult, pair, type Row } from './harness.ts'
import { RequestMeter } from './request-meter.ts'
import { sampleCheckpoint, sampleFiles } from './sample-checkpoints.ts'

const CHECKPOINTS = 200
const THREAD = 'thread'
/** As many objects at a time as the store reads. */
const CONCURRENCY = 32
const PAGE_BYTES = 3_145_728

/**
 * A list of 200 checkpoints against a bare read of the same bytes: the same query, then the same objects with the same
 * concurrency, their bodies taken from the wire and dropped, with nothing decompressed, parsed or checked.
 */
export async function list(): Promise<BenchResult> {
  const engines = await startEngines()
  try {
    const large = await fillThread(engines, 1_000)
    const small = await fillThread(engines, 1)
    const rows = [await countRequests(engines, large, '1,000 files'), await countRequests(engines, small, '1 file')]
    const { row, ratio } = await compareTime(engines, large)
    const dynamodb = rows.flatMap((counted) => [counted['DynamoDB, list'], counted['DynamoDB, pages']]).map(Number)
    return {
      rows: [...rows, row],
      bars: [
        atMost(`DynamoDB requests for ${CHECKPOINTS} checkpoints`, Math.max(...dynamodb), CHECKPOINTS / 10, 'requests'),
        atMost('p50 per checkpoint / bare read', ratio, 2, 'x'),
      ],
    }
  } finally {
    await engines.stop()
  }
}

interface FilledThread {
  scope: Scope
  store: CheckpointStore
}

/** Each checkpoint changes ten files of the one before it. */
async function fillThread(engines: Engines, files: number): Promise<FilledThread> {
  const scope = engines.freshScope()
  const store = createCheckpointStore({ ...engines, scope })
  const writer = await store.acquireWriter(THREAD)
  let parent: string | null = null
  for (let sequence = 1; sequence <= CHECKPOINTS; sequence++) {
    const changed = new Set(Array.from({ length: 10 }, (_, index) => (sequence * 10 + index) % files))
    const checkpoint = sampleCheckpoint(THREAD, sequence, parent, sampleFiles(files, sequence, changed))
    await store.append({ checkpoint, expectedHeadId: parent, writer })
    parent = checkpoint.id
  }
  await writer.release()
  return { scope, store }
}

async function countRequests(engines: Engines, { store }: FilledThread, name: string): Promise<Row> {
  const meter = new RequestMeter(engines)
  const checkpoints = await store.list(THREAD)
  const listed = meter.take()
  let pages = 0
  let after: string | null = null
  do {
    const page = await store.listPage({ threadId: THREAD, after, maxBytes: PAGE_BYTES })
    after = page.next
    pages += 1
  } while (after !== null)
  const paged = meter.take()
  meter.remove()
  const ofS3 = (requests: typeof listed) => requests.filter(({ command }) => command === 'GetObjectCommand').length
  return {
    list: `${checkpoints.length} checkpoints of ${name}`,
    'DynamoDB, list': listed.length - ofS3(listed),
    'S3, list': ofS3(listed),
    pages,
    'DynamoDB, pages': paged.length - ofS3(paged),
    'S3, pages': ofS3(paged),
  }
}

async function compareTime(engines: Engines, { scope, store }: FilledThread): Promise<{ row: Row; ratio: number }> {
  const result = await pair(
    { measured: () => store.list(THREAD), bare: () => bareRead(engines, scope) },
    { turns: 11, warmup: 2 },
  )
  return {
    ratio: result.ratio,
    row: {
      list: 'per checkpoint of 1,000 files, p50',
      ms: result.measured / CHECKPOINTS,
      'bare ms': result.bare / CHECKPOINTS,
      ratio: result.ratio,
    },
  }
}

async function bareRead(engines: Engines, scope: Scope): Promise<void> {
  const threadHash = hashText(THREAD)
  const { pk, sk } = threadKey(scope, threadHash)
  const names: string[] = []
  let start: Record<string, AttributeValue> | undefined
  do {
    const page: QueryCommandOutput = await engines.dynamodb.send(
      new QueryCommand({
        TableName: engines.tableName,
        ConsistentRead: true,
        KeyConditionExpression: 'pk = :pk AND begins_with(sk, :sk)',
        ExpressionAttributeValues: { ':pk': { S: pk }, ':sk': { S: sk } },
        ExclusiveStartKey: start,
      }),
    )
    for (const { bodyName } of page.Items ?? []) if (bodyName?.S !== undefined) names.push(bodyName.S)
    start = page.LastEvaluatedKey
  } while (start)
  await pMap(
    names,
    async (name) => {
      const Key = bodyObjectKey(scope, threadHash, name)
      const { Body } = await engines.s3.send(new GetObjectCommand({ Bucket: engines.bucketName, Key }))
      await Body?.transformToByteArray()
    },
    { concurrency: CONCURRENCY },
  )
}
