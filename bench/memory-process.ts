import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { projectMd } from '../src/memory/project-md.ts'
import { excerptKey, taskPartition } from '../src/table/keys.ts'
import { Table } from '../src/table/table.ts'
import { type Pair, pair } from './harness.ts'

/**
 * Run by the memory's benchmark in a process of its own: reads project.md once, or again and again against the bare
 * queries of its items. `BENCH_MEMORY` is what to do, as JSON.
 */
export interface DocumentTask {
  what: 'once' | 'compare'
  tenant: string
  tableName: string
  dynamodbEndpoint: string
}

export interface DocumentOutcome {
  /** Until the first piece of the document was there. */
  firstMs: number
  bytes: number
  times?: Pair
}

const task = JSON.parse(process.env.BENCH_MEMORY ?? '') as DocumentTask
const scope = { tenant: task.tenant, project: 'project' }
const credentials = { accessKeyId: 'test-key', secretAccessKey: 'test-secret' }
const dynamodb = new DynamoDBClient({ region: 'us-east-1', credentials, endpoint: task.dynamodbEndpoint })
const table = new Table(dynamodb, task.tableName)

const outcome = await readDocument()
if (task.what === 'compare') {
  outcome.times = await pair({ measured: readDocument, bare: readItems }, { turns: 7, warmup: 2 })
  // By now nothing of the code is new to the engine that runs it.
  outcome.firstMs = (await readDocument()).firstMs
}
process.stdout.write(JSON.stringify(outcome))

async function readDocument(): Promise<DocumentOutcome> {
  const start = performance.now()
  let firstMs: number | undefined
  let bytes = 0
  for await (const piece of projectMd({ table, scope, now: Date.now })) {
    firstMs ??= performance.now() - start
    bytes += Buffer.from(piece).length
  }
  return { firstMs: firstMs ?? 0, bytes }
}

async function readItems(): Promise<void> {
  for (const partition of [taskPartition(scope), excerptKey(scope, '').pk]) {
    for await (const _items of table.query(partition)) {
      // Read, and dropped.
    }
  }
}
