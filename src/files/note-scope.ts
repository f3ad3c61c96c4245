import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { type Key, scopeKey } from '../table/keys.ts'
import type { Item, Table, TransactAction } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'

const noted = new WeakMap<DynamoDBClient, Set<string>>()

/**
 * Writes the item by which the sweep finds a scope, once a process: nothing removes it. To put it into every transaction
 * would have all uploads of a project wait for one another.
 */
export async function noteScope(dynamodb: DynamoDBClient, table: Table, scope: Scope): Promise<void> {
  const note = scopeNote(dynamodb, table, scope)
  if (note.actions.length === 0) return
  await retryTransient(() => table.put(noteItem(scope)))
  note.written()
}

/** The same as a part of a transaction: no action when the item is known to be there. */
export function scopeNote(
  dynamodb: DynamoDBClient,
  table: Table,
  scope: Scope,
): { actions: TransactAction[] /** To be called when the transaction is done. */; written(): void } {
  const ofClient = noted.get(dynamodb) ?? new Set<string>()
  noted.set(dynamodb, ofClient)
  const item = noteItem(scope)
  const name = `${table.name}#${item.sk}`
  return {
    actions: ofClient.has(name) ? [] : [table.transactPut(item)],
    written: () => {
      ofClient.add(name)
    },
  }
}

function noteItem(scope: Scope): Item & Key {
  return { ...scopeKey(scope), tenant: scope.tenant, project: scope.project }
}
