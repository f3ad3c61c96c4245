import { createHash } from 'node:crypto'
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb'
import {
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3'
import pMap from 'p-map'
import { blobObjectKey } from '../../../src/blobs/object-keys.ts'
import { createBlobStore } from '../../../src/blobs/store.ts'
import { createCheckpointStore } from '../../../src/checkpoints/store.ts'
import type { SandboxCheckpoint } from '../../../src/checkpoints/types.ts'
import { type ScopeSweepInput, type ScopeSweepResult, sweepScope } from '../../../src/sweep/scope-sweep.ts'
import { sweepPartition } from '../../../src/table/keys.ts'
import { Table } from '../../../src/table/table.ts'
import type { Engines } from '../../support/engines.ts'

export const HOUR_MS = 3_600_000
export const LEASE_MS = 120_000

export interface Clients {
  dynamodb: DynamoDBClient
  s3: S3Client
}

/** Clients of their own, so that what is injected into them befalls one actor only. The SDK repeats nothing. */
export function ownClients({ dynamodb, s3 }: Clients): Clients {
  const { endpoint, region, credentials, requestHandler } = s3.config
  return {
    dynamodb: new DynamoDBClient({
      endpoint: dynamodb.config.endpoint,
      region: dynamodb.config.region,
      credentials: dynamodb.config.credentials,
      requestHandler: dynamodb.config.requestHandler,
      maxAttempts: 1,
    } as DynamoDBClientConfig),
    s3: new S3Client({
      ...{ endpoint, region, credentials, requestHandler },
      forcePathStyle: true,
      maxAttempts: 1,
      requestChecksumCalculation: 'WHEN_REQUIRED',
    } as S3ClientConfig),
  }
}

export function keyOf(content: string | Uint8Array): string {
  return `sandbox-files/sha256/${createHash('sha256').update(content).digest('hex')}`
}

/**
 * A scope that nothing has used, with stores over it and sweeps of it. One clock rules them all; it is an hour ahead of
 * the bucket's, so that every upload is older than a sweep that asks for no age.
 */
export function scopeUnderSweep(engines: Engines) {
  const scope = engines.freshScope()
  let ahead = HOUR_MS
  const now = () => Date.now() + ahead
  const stores = (clients: Clients = engines, clock = now) => {
    const config = { ...engines, ...clients, scope, now: clock, leaseDurationMs: LEASE_MS }
    return { checkpoints: createCheckpointStore(config), blobs: createBlobStore(config) }
  }
  const { checkpoints, blobs } = stores()
  const table = new Table(engines.dynamodb, engines.tableName)
  return {
    scope,
    now,
    stores,
    checkpoints,
    blobs,
    table,
    advance: (ms: number) => {
      ahead += ms
    },
    put: async (text: string): Promise<string> => {
      const key = keyOf(text)
      await blobs.put(key, Buffer.from(text))
      return key
    },
    /** A thread of its own that uses the keys. */
    commit: async (threadId: string, keys: string[]): Promise<void> => {
      const writer = await checkpoints.acquireWriter(threadId)
      await checkpoints.append({ checkpoint: checkpointOf(threadId, threadId, keys), expectedHeadId: null, writer })
      await writer.release()
    },
    sweep: (options: Partial<ScopeSweepInput> = {}, clients: Clients = engines): Promise<ScopeSweepResult> =>
      sweepScope({
        table: new Table(clients.dynamodb, engines.tableName),
        s3: clients.s3,
        bucketName: engines.bucketName,
        ...{ scope, now, olderThanMs: 0, dryRun: false, waitMs: 0 },
        ...options,
      }),
    /** The keys of the blobs that reads find. */
    stored: async (): Promise<string[]> => (await blobs.list('')).map(({ key }) => key),
    /** Object keys of all versions, hidden ones too, under a prefix of the bucket. */
    versions: (root: 'blobs' | 'bodies' | 'staging') =>
      listVersions(engines, `${root}/${scope.tenant}/${scope.project}/`),
    /** What sweeps keep in the table between runs. */
    state: async (): Promise<string[]> => {
      const names: string[] = []
      for await (const items of table.query(sweepPartition(scope))) names.push(...items.map(({ sk }) => String(sk)))
      return names
    },
  }
}

export type ScopeUnderSweep = ReturnType<typeof scopeUnderSweep>

async function listVersions(engines: Engines, prefix: string): Promise<Array<{ key: string; versionId: string }>> {
  const found: Array<{ key: string; versionId: string }> = []
  let page: ListObjectVersionsCommandOutput | undefined
  do {
    page = await engines.s3.send(
      new ListObjectVersionsCommand({
        Bucket: engines.bucketName,
        Prefix: prefix,
        KeyMarker: page?.NextKeyMarker,
        VersionIdMarker: page?.NextVersionIdMarker,
      }),
    )
    for (const { Key = '', VersionId = '' } of [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])]) {
      found.push({ key: Key.slice(prefix.length), versionId: VersionId })
    }
  } while (page.IsTruncated)
  return found
}

export function checkpointOf(
  threadId: string,
  id: string,
  keys: readonly string[],
  parent: string | null = null,
): SandboxCheckpoint {
  return {
    id,
    threadId,
    parentCheckpointId: parent,
    createdAt: 1,
    reason: 'automatic',
    files: keys.map((blobKey, index) => ({ path: `file-${index}`, kind: 'file', blobKey, size: 1 })),
    conversation: [],
    artifacts: [],
  }
}

/** Keys of blobs that need not be there, spread evenly over all keys. */
export function sampleKeys(count: number, seed = ''): string[] {
  return Array.from({ length: count }, (_, index) => keyOf(`sample ${seed}${index}`))
}

/** Puts objects under the keys, as they come from uploads, but all of the same content. */
export async function putObjects(engines: Engines, { scope }: ScopeUnderSweep, keys: readonly string[]): Promise<void> {
  const put = (key: string) =>
    engines.s3.send(
      new PutObjectCommand({ Bucket: engines.bucketName, Key: blobObjectKey(scope, key), Body: Buffer.from('x') }),
    )
  await pMap(keys, put, { concurrency: 32 })
}
