import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { InvalidInputError, PayloadTooLargeError } from '../errors.ts'
import { stringifyJson } from '../json.ts'
import { instanceKey } from '../table/keys.ts'
import { Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import { parseScope, type Scope } from '../tenancy/scope.ts'
import { hashText } from '../text.ts'
import type { SandboxInstanceRecord, SandboxInstanceStore } from './types.ts'

export interface InstanceStoreConfig {
  dynamodb: DynamoDBClient
  tableName: string
  scope: Scope
}

/** UTF-8 bytes of a record's JSON: with its key it stays within DynamoDB's 400 KB an item. */
const MAX_RECORD_BYTES = 384 * 1024

/**
 * The provider sandboxes of one scope. A record is kept as JSON text, so that every string and number survives.
 * @throws InvalidInputError when the scope's names are none.
 */
export function createInstanceStore({ dynamodb, tableName, ...config }: InstanceStoreConfig): SandboxInstanceStore {
  const scope = parseScope(config.scope.tenant, config.scope.project)
  const table = new Table(dynamodb, tableName)
  return {
    async get(key) {
      const item = await retryTransient(() => table.get(keyOf(scope, key)))
      return item ? (JSON.parse(item.record as string) as SandboxInstanceRecord) : null
    },
    async upsert(record) {
      const key = keyOf(scope, record.key)
      const text = stringifyJson(record)
      if (Buffer.byteLength(text) > MAX_RECORD_BYTES) {
        throw new PayloadTooLargeError(`A record is at most ${MAX_RECORD_BYTES} bytes of JSON.`, { field: 'record' })
      }
      await retryTransient(() => table.put({ ...key, record: text }))
    },
    async delete(key) {
      await retryTransient(() => table.delete(keyOf(scope, key)))
    },
  }
}

function keyOf(scope: Scope, key: string) {
  if (typeof key !== 'string' || key === '') throw new InvalidInputError('key', 'key must be a non-empty string.')
  return instanceKey(scope, hashText(key))
}
