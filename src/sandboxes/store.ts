import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'
import { createBlobStore } from '../blobs/store.ts'
import { Bodies } from '../checkpoints/bodies.ts'
import { SANDBOX_RETENTION_SECONDS } from '../limits.ts'
import { Table } from '../table/table.ts'
import { parseScope, type Scope } from '../tenancy/scope.ts'
import type { SandboxContext } from './context.ts'
import { createSandbox } from './create.ts'
import { getSandbox, getSnapshot, listSandboxes, listSnapshots } from './read.ts'
import { saveSnapshot } from './save.ts'
import { destroySandbox, renewSandbox, setRunning } from './states.ts'
import type { SandboxStore } from './types.ts'

export interface SandboxStoreConfig {
  dynamodb: DynamoDBClient
  s3: S3Client
  tableName: string
  bucketName: string
  scope: Scope
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: (() => number) | undefined
  /** Of the writer lease of a save. Default 120,000. */
  leaseDurationMs?: number | undefined
  /** How long an expired or destroyed sandbox is kept, in seconds. Default: 30 days. */
  sandboxRetentionSec?: number | undefined
}

const DEFAULT_LEASE_DURATION_MS = 120_000

/**
 * The sandboxes of one scope, over DynamoDB and S3.
 * @throws InvalidInputError when the scope's names are none.
 */
export function createSandboxStore(config: SandboxStoreConfig): SandboxStore {
  const { dynamodb, s3, tableName, bucketName, now = Date.now } = config
  const scope = parseScope(config.scope.tenant, config.scope.project)
  const leaseDurationMs = config.leaseDurationMs ?? DEFAULT_LEASE_DURATION_MS
  const context: SandboxContext = {
    ...{ s3, bucketName, scope, now, leaseDurationMs },
    table: new Table(dynamodb, tableName),
    bodies: new Bodies(s3, bucketName, scope),
    blobs: createBlobStore({ dynamodb, s3, tableName, bucketName, scope, now }),
    // A save is over long before: nobody renews its lease.
    renewAfterMs: leaseDurationMs,
    seen: new WeakMap(),
    retentionMs: (config.sandboxRetentionSec ?? SANDBOX_RETENTION_SECONDS) * 1000,
  }
  return {
    create: async (input) => createSandbox(context, input),
    get: async (sandboxId) => getSandbox(context, sandboxId),
    list: async (input) => listSandboxes(context, input),
    stop: async (sandboxId) => setRunning(context, sandboxId, 'stopped'),
    start: async (sandboxId) => setRunning(context, sandboxId, 'running'),
    renew: async (sandboxId, ttlSeconds) => renewSandbox(context, sandboxId, ttlSeconds),
    destroy: async (sandboxId, mayDestroy) => destroySandbox(context, sandboxId, mayDestroy),
    saveSnapshot: async (sandboxId, input) => saveSnapshot(context, sandboxId, input),
    listSnapshots: async (sandboxId, input) => listSnapshots(context, sandboxId, input),
    getSnapshot: async (sandboxId, snapshotSeq) => getSnapshot(context, sandboxId, snapshotSeq),
  }
}
