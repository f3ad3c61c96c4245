import { setTimeout as delay } from 'node:timers/promises'
import type { Store } from 'dynalite/db/index.js'
import { DynamoDbError, validationError } from './errors.ts'
import { type OperationName, run, validate } from './item-actions.ts'
import { findTable, requireTable } from './store.ts'
import type { JsonObject } from './types.ts'

const timeToLiveKey = (table: string) => `ttl~${table}`
const backupsKey = (table: string) => `backups~${table}`

/** CreateTable, UpdateTable or DeleteTable: answers when the table is in its final state. */
export async function changeTable(name: OperationName, store: Store, request: JsonObject): Promise<JsonObject> {
  const checked = validate(name, request, store)
  const table = String(checked.TableName)
  const answer = await run(name, store, checked)
  // dynalite settles a table's state in a timer of no delay.
  while (!settled(store, table, name === 'DeleteTable')) await delay(1)
  if (name === 'DeleteTable') {
    await store.db.batch([
      { type: 'del', key: timeToLiveKey(table) },
      { type: 'del', key: backupsKey(table) },
    ])
    return answer
  }
  return { TableDescription: findTable(store.db, table) }
}

function settled(store: Store, name: string, deleted: boolean): boolean {
  const table = findTable(store.db, name)
  if (deleted || !table) return !table
  const indexes = table.GlobalSecondaryIndexes ?? []
  return table.TableStatus === 'ACTIVE' && indexes.every((index) => index.IndexStatus === 'ACTIVE')
}

/** UpdateTimeToLive. Items are not removed: DynamoDB too may keep an expired item for days. */
export async function updateTimeToLive(store: Store, request: JsonObject): Promise<JsonObject> {
  const table = tableName(store, request)
  const specification = request.TimeToLiveSpecification as JsonObject | null | undefined
  const attribute = specification?.AttributeName
  const enabled = specification?.Enabled
  if (typeof attribute !== 'string' || attribute === '' || typeof enabled !== 'boolean') {
    throw validationError('TimeToLiveSpecification must have an AttributeName and Enabled')
  }
  const current = store.db.getSync(timeToLiveKey(table))
  if (enabled && current !== undefined) throw validationError('TimeToLive is already enabled')
  if (!enabled && current === undefined) throw validationError('TimeToLive is already disabled')
  if (!enabled && current !== attribute) throw validationError('TimeToLive is active on a different AttributeName')
  const key = timeToLiveKey(table)
  await store.db.batch([enabled ? { type: 'put', key, value: attribute } : { type: 'del', key }])
  return { TimeToLiveSpecification: { AttributeName: attribute, Enabled: enabled } }
}

/** DescribeTimeToLive. */
export async function describeTimeToLive(store: Store, request: JsonObject): Promise<JsonObject> {
  const attribute = store.db.getSync(timeToLiveKey(tableName(store, request)))
  if (attribute === undefined) return { TimeToLiveDescription: { TimeToLiveStatus: 'DISABLED' } }
  return { TimeToLiveDescription: { TimeToLiveStatus: 'ENABLED', AttributeName: attribute } }
}

/** UpdateContinuousBackups: remembers the setting; nothing is backed up. */
export async function updateContinuousBackups(store: Store, request: JsonObject): Promise<JsonObject> {
  const table = tableName(store, request)
  const specification = request.PointInTimeRecoverySpecification as JsonObject | null | undefined
  const enabled = specification?.PointInTimeRecoveryEnabled
  if (typeof enabled !== 'boolean') throw validationError('PointInTimeRecoveryEnabled must be a boolean')
  await store.db.batch([{ type: 'put', key: backupsKey(table), value: enabled }])
  return describeContinuousBackups(store, request)
}

/** DescribeContinuousBackups. */
export async function describeContinuousBackups(store: Store, request: JsonObject): Promise<JsonObject> {
  const enabled = store.db.getSync(backupsKey(tableName(store, request))) === true
  return {
    ContinuousBackupsDescription: {
      ContinuousBackupsStatus: 'ENABLED',
      PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: enabled ? 'ENABLED' : 'DISABLED' },
    },
  }
}

function tableName(store: Store, request: JsonObject): string {
  const name = request.TableName
  if (typeof name !== 'string') throw new DynamoDbError('SerializationException', 'TableName is not a string')
  requireTable(store.db, name)
  return name
}
