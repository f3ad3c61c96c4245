import { createHash } from 'node:crypto'
import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb'
import { createBlobStore } from '../../../src/blobs/store.ts'
import type { SandboxSnapshotFileEntry } from '../../../src/checkpoints/types.ts'
import { createSandboxStore } from '../../../src/sandboxes/store.ts'
import type { CreateSandboxInput, SandboxRecord, SnapshotRecord } from '../../../src/sandboxes/types.ts'
import type { Engines } from '../../support/engines.ts'

export const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000
export const RETENTION_MS = 30 * DAY_MS
/** Any sandbox may be destroyed. */
export const anyone = () => true

type Clients = Pick<Engines, 'dynamodb' | 's3'>

/** The sandboxes of a scope that nothing has used, with a clock that stands still until it is moved. */
export function sandboxWorld(engines: Engines, scope = engines.freshScope()) {
  // Ahead of the bucket's clock: a sweep that asks for no age takes every upload for older.
  let time = Date.now() + 60 * MINUTE_MS
  const now = () => time
  const storeWith = (clients: Clients = engines) =>
    createSandboxStore({ ...engines, ...clients, scope, now, sandboxRetentionSec: RETENTION_MS / 1000 })
  const store = storeWith()
  const blobs = createBlobStore({ ...engines, scope, now })
  const put = async (text: string): Promise<SandboxSnapshotFileEntry> => {
    const bytes = Buffer.from(text)
    const blobKey = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`
    await blobs.put(blobKey, bytes)
    return { kind: 'file', path: 'f.txt', blobKey, size: bytes.length }
  }
  return {
    ...{ scope, now, store, storeWith, blobs, put },
    /** The keys of all items of the scope, but for its name and the reports and pages of sweeps. */
    items: async (): Promise<string[]> => {
      const keys: string[] = []
      const client = DynamoDBDocumentClient.from(engines.dynamodb)
      for await (const { Items = [] } of paginateScan({ client }, { TableName: engines.tableName })) {
        for (const { pk, sk } of Items) keys.push(`${pk} ${sk}`)
      }
      return keys.filter((key) => key.includes(`#${scope.tenant}#`) && !/^[RW]#/.test(key)).sort()
    },
    /** The keys of all objects of the scope. */
    objects: async (): Promise<string[]> => {
      const { Contents = [] } = await engines.s3.send(new ListObjectsV2Command({ Bucket: engines.bucketName }))
      return Contents.map(({ Key = '' }) => Key).filter((key) => key.split('/')[1] === scope.tenant)
    },
    advance: (ms: number) => {
      time += ms
    },
    create: async (input: Partial<CreateSandboxInput> = {}): Promise<SandboxRecord> =>
      (await store.create({ profile: 'default', by: 'key:k', ...input })).sandbox,
    /** Saves a workspace of one file with this text. */
    save: async (sandboxId: string, text: string): Promise<SnapshotRecord> =>
      store.saveSnapshot(sandboxId, { reason: 'autosave', files: [await put(text)] }),
  }
}

export type SandboxWorld = ReturnType<typeof sandboxWorld>

/** The number of the snapshot that a sandbox of the key would begin from, as `sandbox#snapshot`. */
export async function latestOf(world: SandboxWorld, taskId: string): Promise<string | null> {
  const { source } = await world.create({ taskId, source: { type: 'workspace_latest' } })
  return source?.sandboxId === undefined ? null : `${source.sandboxId}#${source.snapshotSeq}`
}
