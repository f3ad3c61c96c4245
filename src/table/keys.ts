import type { Scope } from '../tenancy/scope.ts'

/**
 * The one module that knows how keys of the table are made.
 *
 * | item       | pk                              | sk                          |
 * |------------|---------------------------------|-----------------------------|
 * | thread     | `C#tenant#project#shard`        | `<thread hash>#`            |
 * | checkpoint | `C#tenant#project#shard`        | `<thread hash>#<sequence>`  |
 * | id         | `I#tenant#project#<id hash>`    | `I`                         |
 * | instance   | `N#tenant#project#<key hash>`   | `N`                         |
 * | scope      | `SCOPES`                        | `tenant#project`            |
 * | API key    | `KEYS`                          | `<key id>`                  |
 *
 * Tenants and projects hold no `#`, and everything arbitrary is a hash, so that no two parts can join to the same key.
 * A thread lies beside its checkpoints: one query reads both, and the sixteen shards of a scope read all of it.
 */
export interface Key {
  pk: string
  sk: string
}

/** The shards of a scope: the first hex digit of a thread's hash. */
export const SHARDS: readonly string[] = [...'0123456789abcdef']

const SEQUENCE_DIGITS = 16

export function shardPartition(scope: Scope, shard: string): string {
  return `C#${scope.tenant}#${scope.project}#${shard}`
}

/** The thread's item, which sorts before its checkpoints, and the prefix of all their sort keys. */
export function threadKey(scope: Scope, threadHash: string): Key {
  return { pk: shardPartition(scope, threadHash.slice(0, 1)), sk: `${threadHash}#` }
}

export function checkpointKey(scope: Scope, threadHash: string, sequence: number): Key {
  const { pk, sk } = threadKey(scope, threadHash)
  return { pk, sk: sk + String(sequence).padStart(SEQUENCE_DIGITS, '0') }
}

/** The hash of the thread that an item of a shard belongs to. */
export function threadHashOf(sortKey: string): string {
  return sortKey.slice(0, sortKey.indexOf('#'))
}

export function idKey(scope: Scope, idHash: string): Key {
  return { pk: `I#${scope.tenant}#${scope.project}#${idHash}`, sk: 'I' }
}

export function instanceKey(scope: Scope, keyHash: string): Key {
  return { pk: `N#${scope.tenant}#${scope.project}#${keyHash}`, sk: 'N' }
}

export const SCOPES_PARTITION = 'SCOPES'

export function scopeKey(scope: Scope): Key {
  return { pk: SCOPES_PARTITION, sk: `${scope.tenant}#${scope.project}` }
}

export function scopeOf(sortKey: string): Scope {
  const [tenant = '', project = ''] = sortKey.split('#')
  return { tenant, project }
}

export const API_KEYS_PARTITION = 'KEYS'

export function apiKeyKey(keyId: string): Key {
  return { pk: API_KEYS_PARTITION, sk: keyId }
}
