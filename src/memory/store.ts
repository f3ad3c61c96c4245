import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'
import { InvalidInputError } from '../errors.ts'
import { isRetention, MEMORY_RETENTION_SECONDS, RETENTION_RULE } from '../limits.ts'
import { Table } from '../table/table.ts'
import { parseScope, type Scope } from '../tenancy/scope.ts'
import { createUploads } from '../uploads/uploads.ts'
import type { MemoryContext } from './context.ts'
import { getTask, listTasks } from './list.ts'
import { MemoryObjects } from './objects.ts'
import { projectMd } from './project-md.ts'
import { putArtifact } from './put-artifact.ts'
import { putTurn } from './put-turn.ts'
import { findArtifact, getTurn, readArtifact } from './read.ts'
import { deleteTask } from './remove.ts'
import type { MemoryStore } from './types.ts'
import { completeUpload, startUpload } from './uploads.ts'

export interface MemoryStoreConfig {
  dynamodb: DynamoDBClient
  s3: S3Client
  tableName: string
  bucketName: string
  scope: Scope
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: (() => number) | undefined
  /** For how many seconds a task is kept after its last write. Default: 30 days. */
  retentionSec?: number | undefined
}

/**
 * The memory of one project.
 * @throws InvalidInputError when the scope's names are none
 */
export function createMemoryStore(config: MemoryStoreConfig): MemoryStore {
  const context = createMemoryContext(config)
  return {
    putTurn: (write) => putTurn(context, write),
    getTurn: (id) => getTurn(context, id),
    putArtifact: (write) => putArtifact(context, write),
    findArtifact: (id) => findArtifact(context, id),
    readArtifact: (stored, range) => readArtifact(context, stored, range),
    presignArtifact: ({ objectKey, contentType }) => context.objects.presign(objectKey, contentType),
    startUpload: (upload) => startUpload(context, upload),
    completeUpload: (request) => completeUpload(context, request),
    listTasks: (page) => listTasks(context, page),
    getTask: (page) => getTask(context, page),
    deleteTask: (request) => deleteTask(context, request),
    projectMd: () => projectMd(context),
  }
}

export function createMemoryContext(config: MemoryStoreConfig): MemoryContext {
  const { dynamodb, s3, tableName, bucketName, now = Date.now, retentionSec = MEMORY_RETENTION_SECONDS } = config
  if (!isRetention(retentionSec)) throw new InvalidInputError('retentionSec', `retentionSec must be ${RETENTION_RULE}.`)
  const scope = parseScope(config.scope.tenant, config.scope.project)
  return {
    table: new Table(dynamodb, tableName),
    objects: new MemoryObjects(s3, bucketName),
    uploads: createUploads({ ...config, scope, now }),
    scope,
    now,
    retentionMs: retentionSec * 1000,
  }
}
