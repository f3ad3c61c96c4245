import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { scopeKey } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'

const noted = new WeakMap<DynamoDBClient, Set<string>>()

/**
 * Writes the item by which the sweep finds a scope, once a process: nothing removes it. To put it into every transaction
 * would have all uploads of a project wait for one another.
 */
export async function noteScope(dynamodb: DynamoDBClient, table: Table, scope: Scope): Promise<void> {
  const ofClient = noted.get(dynamodb) ?? new Set<string>()
  noted.set(dynamodb, ofClient)
  const key = scopeKey(scope)
  const name = `${table.name}#${key.sk}`
  if (ofClient.has(name)) return
  await retryTransient(() => table.put({ ...key, tenant: scope.tenant, project: scope.project }))
  ofClient.add(name)
}
