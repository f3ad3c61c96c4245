import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'
import { noteOrigin } from '../own-stores.ts'
import { Table } from '../table/table.ts'
import { parseScope, type Scope } from '../tenancy/scope.ts'
import { append } from './append.ts'
import { Bodies } from './bodies.ts'
import type { StoreContext } from './context.ts'
import { forkFromCheckpoint } from './fork.ts'
import { getCheckpoint, getHead, type ListPageInput, listCheckpoints, listPage } from './read.ts'
import { listBlobReferences } from './references.ts'
import { deleteCheckpoints, deleteHead } from './remove.ts'
import type {
  SandboxCheckpoint,
  SandboxCheckpointStore,
  SandboxCheckpointStoreOptions,
  SandboxCheckpointWriter,
} from './types.ts'
import { acquireWriter, releaseWriter, renewWriter } from './writer.ts'

export interface CheckpointStoreConfig extends SandboxCheckpointStoreOptions {
  dynamodb: DynamoDBClient
  s3: S3Client
  tableName: string
  bucketName: string
  scope: Scope
}

/** The contract's store, and what the HTTP API needs beside it. */
export interface CheckpointStore extends SandboxCheckpointStore {
  listPage(input: ListPageInput): Promise<{ checkpoints: SandboxCheckpoint[]; next: string | null }>
  renewWriter(writer: SandboxCheckpointWriter): Promise<{ expiresAt: number }>
  releaseWriter(writer: SandboxCheckpointWriter): Promise<void>
}

const DEFAULT_LEASE_DURATION_MS = 120_000
const DEFAULT_RENEW_AFTER_MS = 45_000

/**
 * The checkpoint store of one scope, over DynamoDB and S3.
 * @throws Error unless leaseDurationMs is finite and above 0, and renewAfterMs too and below leaseDurationMs;
 *   InvalidInputError when the scope's names are none.
 */
export function createCheckpointStore(config: CheckpointStoreConfig): CheckpointStore {
  const { leaseDurationMs = DEFAULT_LEASE_DURATION_MS, renewAfterMs = DEFAULT_RENEW_AFTER_MS } = config
  checkDuration('leaseDurationMs', leaseDurationMs)
  checkDuration('renewAfterMs', renewAfterMs)
  if (renewAfterMs >= leaseDurationMs) throw new Error('renewAfterMs must be less than leaseDurationMs.')
  const scope = parseScope(config.scope.tenant, config.scope.project)
  const context: StoreContext = {
    table: new Table(config.dynamodb, config.tableName),
    s3: config.s3,
    bucketName: config.bucketName,
    bodies: new Bodies(config.s3, config.bucketName, scope),
    scope,
    now: config.now ?? Date.now,
    leaseDurationMs,
    renewAfterMs,
    seen: new WeakMap(),
  }
  const store: CheckpointStore = {
    get: async (id) => getCheckpoint(context, id),
    list: async (threadId) => listCheckpoints(context, threadId),
    listPage: async (input) => listPage(context, input),
    getHead: async (threadId) => getHead(context, threadId),
    append: async (input) => append(context, input),
    deleteHead: async (input) => deleteHead(context, input),
    acquireWriter: async (threadId, options) => acquireWriter(context, threadId, options?.ownerToken),
    renewWriter: async (writer) => ({ expiresAt: await renewWriter(context, writer) }),
    releaseWriter: async (writer) => releaseWriter(context, writer),
    listBlobReferences: async () => listBlobReferences(context),
    forkFromCheckpoint: async (input) => forkFromCheckpoint(context, input),
    deleteCheckpoints: async (input) => deleteCheckpoints(context, input),
  }
  return noteOrigin(store, config)
}

function checkDuration(name: string, value: number): void {
  if (!Number.isFinite(value) || value <= 0) throw new Error(`${name} must be a finite number above 0.`)
}
