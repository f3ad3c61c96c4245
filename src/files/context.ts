import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'
import type { AnthropicConnection } from '../anthropic/connection.ts'
import { Table } from '../table/table.ts'
import { parseScope, type Scope } from '../tenancy/scope.ts'
import { AnthropicFilesApi } from './anthropic-api.ts'
import { createAnthropicBackend } from './anthropic-backend.ts'
import type { BackendName } from './backend.ts'
import type { FilesContext } from './removal.ts'
import { createS3Backend } from './s3-backend.ts'

export interface FilesConfig {
  dynamodb: DynamoDBClient
  s3: S3Client
  tableName: string
  bucketName: string
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: (() => number) | undefined
  /** Where files of the backend `anthropic` are. */
  anthropic?: AnthropicConnection | undefined
  /** Where uploads go. Default `s3`. */
  filesBackend?: BackendName | undefined
}

/** What works on the files of a scope. @throws InvalidInputError when the scope's names are none */
export function createContext(config: FilesConfig & { scope: Scope; table?: Table }): FilesContext {
  const { s3, bucketName, anthropic, now = Date.now } = config
  const scope = parseScope(config.scope.tenant, config.scope.project)
  const table = config.table ?? new Table(config.dynamodb, config.tableName)
  const common = { s3, bucketName, scope }
  return {
    table,
    scope,
    now,
    backends: {
      s3: createS3Backend(common),
      ...(anthropic && {
        anthropic: createAnthropicBackend({ ...common, table, now, api: new AnthropicFilesApi(anthropic) }),
      }),
    },
  }
}
