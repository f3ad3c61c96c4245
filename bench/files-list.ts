import { BatchWriteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import pMap from 'p-map'
import { type FileEntry, fileItem, listItem, ownerIn, userOwner } from '../src/files/items.ts'
import { newFileId } from '../src/files/s3-backend.ts'
import { createFileStore } from '../src/files/store.ts'
import type { FileStore } from '../src/files/types.ts'
import type { Scope } from '../src/tenancy/scope.ts'
import { type Engines, startEngines } from '../test/support/engines.ts'
import { atMost, type BenchResult, type Row } from './harness.ts'
import { RequestMeter } from './request-meter.ts'

const OTHERS = 100_000
const OTHER_USERS = 1_000
/** Files that one BatchWriteItem makes: each is two items. */
const BATCH = 12
const PAGE = 20
const LISTS = 3

/** A page of one user's files in an app that has 100,000 files of others. */
export async function filesList(): Promise<BenchResult> {
  const engines = await startEngines()
  try {
    const scope = engines.freshScope()
    await fillWithOthers(engines, scope)
    const store = createFileStore({ ...engines, scope, user: userOwner('me') })
    const rows = [await measure(engines, store, 'no files of this user')]
    for (let index = 0; index < PAGE + 10; index++) {
      const bytes = Buffer.from('hello')
      const fileScope = index % 3 === 0 ? 'app' : 'user'
      await store.create({ filename: `${index}`, mimeType: 'text/plain', scope: fileScope, fromSandbox: false, bytes })
    }
    rows.push(await measure(engines, store, `${PAGE + 10} files of this user and the app`))
    const reads = Math.max(...rows.map(({ reads }) => Number(reads)))
    return { rows, bars: [atMost(`reads for a list of ${PAGE} beside ${OTHERS} files of others`, reads, 2, 'reads')] }
  } finally {
    await engines.stop()
  }
}

async function measure(engines: Engines, store: FileStore, files: string): Promise<Row> {
  const meter = new RequestMeter(engines)
  let found = 0
  let reads = 0
  for (let turn = 0; turn < LISTS; turn++) {
    found = (await store.list({ limit: PAGE })).files.length
    reads = Math.max(reads, meter.take().length)
  }
  meter.remove()
  return { list: files, found, reads }
}

async function fillWithOthers(engines: Engines, scope: Scope): Promise<void> {
  const client = DynamoDBDocumentClient.from(engines.dynamodb)
  const starts = Array.from({ length: Math.ceil(OTHERS / BATCH) }, (_, index) => index * BATCH)
  const write = async (start: number): Promise<void> => {
    const entries = Array.from({ length: Math.min(BATCH, OTHERS - start) }, (_, index) => entryOf(start + index))
    const items = entries.flatMap((entry) => [fileItem(scope, entry), listItem(scope, entry)])
    const requests = items.map((Item) => ({ PutRequest: { Item } }))
    await client.send(new BatchWriteCommand({ RequestItems: { [engines.tableName]: requests } }))
  }
  await pMap(starts, write, { concurrency: 4 })
}

function entryOf(index: number): FileEntry {
  const description = {
    filename: `${index}.csv`,
    mimeType: 'text/csv',
    sizeBytes: index,
    downloadable: false,
    expiresAt: Date.now() + 86_400_000,
  }
  const owner = ownerIn('user', userOwner(String(index % OTHER_USERS)))
  return { id: newFileId(), owner, backend: 's3', createdAt: Date.now(), description }
}
