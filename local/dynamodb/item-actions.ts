import { createRequire } from 'node:module'
import type { Store } from 'dynalite/db/index.js'
import dynaliteDb from 'dynalite/db/index.js'
import validations from 'dynalite/validations/index.js'
import { type Condition, fulfils } from './conditions.ts'
import { DynamoDbError, isAnswer, validationError } from './errors.ts'
import { checkExpressionSizes, checkKeyBytes, checkSubstitutionSize } from './limits.ts'
import { itemSize } from './size.ts'
import type { StoreView } from './store.ts'
import type { JsonObject, WireItem } from './types.ts'

// dynalite measures strings in UTF-16 units where DynamoDB counts UTF-8 bytes, and compares some values by reference.
// Its actions look these functions up on the module.
const { validateKey, validateItem, checkConditional } = dynaliteDb
dynaliteDb.itemSize = itemSize
dynaliteDb.validateKey = (key, table, schema) => validateKey(key, table, schema) ?? checkKeyBytes(key, table)
dynaliteDb.validateItem = (item, table) => validateItem(item, table) ?? checkKeyBytes(item, table)
dynaliteDb.checkConditional = (request, item) => {
  const condition = request._condition as { expression: Condition } | undefined
  if (!condition) return checkConditional(request, item)
  if (fulfils(item ?? {}, condition.expression)) return null
  return new DynamoDbError('ConditionalCheckFailedException', 'The conditional request failed')
}

type Action = (store: object, request: JsonObject, callback: (error: unknown, answer?: JsonObject) => void) => void

interface Operation {
  action: Action
  types: object
  custom: unknown
}

const require = createRequire(import.meta.url)

const NAMES = [
  'BatchGetItem',
  'BatchWriteItem',
  'CreateTable',
  'DeleteItem',
  'DeleteTable',
  'DescribeTable',
  'GetItem',
  'ListTables',
  'ListTagsOfResource',
  'PutItem',
  'Query',
  'Scan',
  'TagResource',
  'UntagResource',
  'UpdateItem',
  'UpdateTable',
] as const

/** An operation that dynalite has. */
export type OperationName = (typeof NAMES)[number]

const operations = Object.fromEntries(
  NAMES.map((name) => {
    const file = name.charAt(0).toLowerCase() + name.slice(1)
    return [name, { action: require(`dynalite/actions/${file}.js`), ...require(`dynalite/validations/${file}.js`) }]
  }),
) as Record<OperationName, Operation>

/**
 * The request, checked and with its expressions parsed, as dynalite's action takes it. `request` is used up.
 * Throws ValidationException or SerializationException.
 */
export function validate(name: OperationName, request: JsonObject, store: Store): JsonObject {
  const { types, custom } = operations[name]
  checkExpressionSizes(request)
  try {
    const checked = validations.checkTypes(request, types)
    validations.checkValidations(checked, types, custom, store)
    checkSubstitutionSize((checked.ExpressionAttributeValues ?? {}) as WireItem)
    return checked
  } catch (error) {
    if (isAnswer(error)) throw error
    // The checks trip over values that no client library sends, such as null in a list.
    throw new DynamoDbError('SerializationException', 'The request could not be read')
  }
}

/** Runs dynalite's action on a validated request; rejects with the answer that refuses it. */
export function run(name: OperationName, store: StoreView | Store, request: JsonObject): Promise<JsonObject> {
  return new Promise((resolve, reject) => {
    operations[name].action(store, request, (error, answer) => (error ? reject(error) : resolve(answer ?? {})))
  })
}

/** Throws ValidationException unless `value` is a list of `least` to `most` members. */
export function requireList(value: unknown, name: string, least: number, most: number): asserts value is unknown[] {
  const bound = (rule: string) =>
    validationError(`1 validation error detected: Value at '${name}' failed to satisfy constraint: Member must ${rule}`)
  if (value == null) throw bound('not be null')
  if (!Array.isArray(value)) throw new DynamoDbError('SerializationException', `${name} is not a list`)
  if (value.length < least) throw bound(`have length greater than or equal to ${least}`)
  if (value.length > most) throw bound(`have length less than or equal to ${most}`)
}
