import type { Store } from 'dynalite/db/index.js'
import { DynamoDbError, isAnswer, typeOf, validationError } from './errors.ts'
import { type OperationName, requireList, run, validate } from './item-actions.ts'
import { itemSize, writeUnits } from './size.ts'
import { type Change, requireTable, StoreView } from './store.ts'
import { digestOf, IdempotencyTokens } from './tokens.ts'
import type { JsonObject, WireItem } from './types.ts'

const MAX_ACTIONS = 100
const MAX_TRANSACTION_BYTES = 4 * 1024 * 1024

const NONE = { Code: 'None' }

/** dynalite's operation that checks and carries out an action; a ConditionCheck is a delete whose changes are dropped. */
const OPERATIONS = {
  Put: { operation: 'PutItem', requires: [] },
  Update: { operation: 'UpdateItem', requires: ['UpdateExpression'] },
  Delete: { operation: 'DeleteItem', requires: [] },
  ConditionCheck: { operation: 'DeleteItem', requires: ['ConditionExpression'] },
} as const satisfies Record<string, { operation: OperationName; requires: string[] }>

interface PlannedAction {
  operation: OperationName
  request: JsonObject
  table: string
  keepsChanges: boolean
  returnsOldItem: boolean
}

/**
 * TransactWriteItems: all actions are checked against the current state, then applied in one atomic batch, or none is.
 * The caller keeps other requests out meanwhile. Throws TransactionCanceledException with a reason for each action,
 * IdempotentParameterMismatchException and ValidationException.
 */
export async function transactWriteItems(
  store: Store,
  tokens: IdempotencyTokens,
  request: JsonObject,
): Promise<JsonObject> {
  requireList(request.TransactItems, 'transactItems', 1, MAX_ACTIONS)
  const token = request.ClientRequestToken ?? undefined
  if (token !== undefined) IdempotencyTokens.check(token)
  const digest = token === undefined ? '' : digestOf(request.TransactItems)
  if (token !== undefined && tokens.hasCompleted(token, digest)) return {}

  const actions = request.TransactItems.map((entry) => plan(store, entry))
  requireDistinctItems(store, actions)

  const views: StoreView[] = []
  const reasons: JsonObject[] = []
  for (const action of actions) {
    const view = new StoreView(store, action.request)
    views.push(view)
    reasons.push(await attempt(action, view))
  }
  requireTotalSize(views.map((view) => view.newItem ?? view.oldItem))
  if (reasons.some((reason) => reason !== NONE)) throw cancelled(reasons)

  const changes = views.flatMap((view, i): Change[] => (actions[i]?.keepsChanges ? view.changes : []))
  if (token === undefined) {
    await store.db.batch(changes)
  } else {
    const record = tokens.record(token, digest)
    await store.db.batch([...changes, ...record.changes])
    record.remember()
  }
  return consumed(request, actions, (i) => 2 * writeUnits(views[i]?.oldItem, views[i]?.newItem))
}

/** TransactGetItems: the items as they are at one moment; the caller keeps writers out meanwhile. */
export async function transactGetItems(store: Store, request: JsonObject): Promise<JsonObject> {
  requireList(request.TransactItems, 'transactItems', 1, MAX_ACTIONS)
  const actions = request.TransactItems.map((entry): PlannedAction => {
    const { Get: get } = requireObject(entry)
    const checked = validate('GetItem', { ...requireObject(get) }, store)
    return {
      operation: 'GetItem',
      request: checked,
      table: String(checked.TableName),
      keepsChanges: false,
      returnsOldItem: false,
    }
  })
  requireDistinctItems(store, actions)
  const views: StoreView[] = []
  const reasons: JsonObject[] = []
  const responses: JsonObject[] = []
  for (const { request: get } of actions) {
    const view = new StoreView(store, get)
    views.push(view)
    try {
      const { Item } = await run('GetItem', view, get)
      responses.push(Item === undefined ? {} : { Item })
      reasons.push(NONE)
    } catch (error) {
      reasons.push(reasonOf(error))
    }
  }
  if (reasons.some((reason) => reason !== NONE)) throw cancelled(reasons)
  requireTotalSize(views.map((view) => view.oldItem))
  const units = (i: number) => 2 * Math.max(1, Math.ceil(itemSize(views[i]?.oldItem ?? {}) / 4096))
  return { Responses: responses, ...consumed(request, actions, units) }
}

function plan(store: Store, entry: unknown): PlannedAction {
  const members = Object.entries(requireObject(entry)).filter(([, value]) => value != null)
  const [name, parameters] = members[0] ?? []
  if (members.length !== 1 || name === undefined || !Object.hasOwn(OPERATIONS, name)) {
    throw validationError('TransactItems can only contain one of Check, Put, Update or Delete')
  }
  const { operation, requires } = OPERATIONS[name as keyof typeof OPERATIONS]
  const request = { ...requireObject(parameters) }
  for (const required of requires) {
    if (request[required] == null) {
      throw validationError(
        `1 validation error detected: Value null at 'transactItems.${name}.${required}' failed to satisfy constraint: Member must not be null`,
      )
    }
  }
  const returnsOldItem = wantsOldItem(request)
  const checked = validate(operation, request, store)
  const table = String(checked.TableName)
  return { operation, request: checked, table, keepsChanges: name !== 'ConditionCheck', returnsOldItem }
}

/** Whether a failed condition answers with the item. Throws ValidationException for an unknown value. */
export function wantsOldItem(request: JsonObject): boolean {
  const value = request.ReturnValuesOnConditionCheckFailure ?? 'NONE'
  if (value !== 'ALL_OLD' && value !== 'NONE') {
    throw validationError(
      `1 validation error detected: Value '${String(value)}' at 'returnValuesOnConditionCheckFailure' failed to satisfy ` +
        'constraint: Member must satisfy enum value set: [ALL_OLD, NONE]',
    )
  }
  return value === 'ALL_OLD'
}

function requireDistinctItems(store: Store, actions: PlannedAction[]): void {
  const seen = new Set<string>()
  for (const { request, table } of actions) {
    const definition = requireTable(store.db, table)
    const item = (request.Key ?? request.Item) as WireItem
    const key = JSON.stringify([table, ...definition.KeySchema.map(({ AttributeName }) => item[AttributeName])])
    if (seen.has(key)) throw validationError('Transaction request cannot include multiple operations on one item')
    seen.add(key)
  }
}

async function attempt({ operation, request, returnsOldItem }: PlannedAction, view: StoreView): Promise<JsonObject> {
  try {
    await run(operation, view, request)
    return NONE
  } catch (error) {
    const reason = reasonOf(error)
    if (returnsOldItem && reason.Code === 'ConditionalCheckFailed' && view.oldItem) reason.Item = view.oldItem
    return reason
  }
}

function reasonOf(error: unknown): JsonObject {
  if (!isAnswer(error)) throw error
  const type = typeOf(error)
  if (type === 'ConditionalCheckFailedException') return { Code: 'ConditionalCheckFailed', Message: error.message }
  if (type === 'ValidationException') return { Code: 'ValidationError', Message: error.message }
  throw error
}

function cancelled(reasons: JsonObject[]): DynamoDbError {
  const codes = reasons.map((reason) => reason.Code).join(', ')
  const message = `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`
  return new DynamoDbError('TransactionCanceledException', message, { CancellationReasons: reasons })
}

function requireTotalSize(items: (WireItem | undefined)[]): void {
  let total = 0
  for (const item of items) if (item) total += itemSize(item)
  if (total > MAX_TRANSACTION_BYTES) {
    throw validationError('The aggregate size of the items in the transaction cannot exceed 4 MB')
  }
}

function consumed(request: JsonObject, actions: PlannedAction[], units: (action: number) => number): JsonObject {
  const level = request.ReturnConsumedCapacity
  if (level !== 'TOTAL' && level !== 'INDEXES') return {}
  const tables = new Map<string, number>()
  actions.forEach(({ table }, i) => {
    tables.set(table, (tables.get(table) ?? 0) + units(i))
  })
  return {
    ConsumedCapacity: [...tables].map(([TableName, CapacityUnits]) => ({
      TableName,
      CapacityUnits,
      ...(level === 'INDEXES' ? { Table: { CapacityUnits } } : {}),
    })),
  }
}

function requireObject(value: unknown): JsonObject {
  if (value === null || value === undefined || typeof value !== 'object' || Array.isArray(value)) {
    throw validationError('1 validation error detected: a member of transactItems is missing or not a structure')
  }
  return value as JsonObject
}
