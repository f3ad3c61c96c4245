import validations from 'dynalite/validations/index.js'
import { validationError } from './errors.ts'
import { itemSize } from './size.ts'
import type { JsonObject, TableDefinition, WireItem, WireValue } from './types.ts'

const MAX_EXPRESSION_BYTES = 4096
const MAX_SUBSTITUTION_BYTES = 2 * 1024 * 1024
const MAX_NESTING = 32
const MAX_PARTITION_KEY_BYTES = 2048
const MAX_SORT_KEY_BYTES = 1024

const EXPRESSIONS = [
  'UpdateExpression',
  'ConditionExpression',
  'KeyConditionExpression',
  'FilterExpression',
  'ProjectionExpression',
]

/** Throws ValidationException for an expression over 4 KB. */
export function checkExpressionSizes(request: JsonObject): void {
  for (const name of EXPRESSIONS) {
    const expression = request[name]
    if (typeof expression === 'string' && Buffer.byteLength(expression) > MAX_EXPRESSION_BYTES) {
      throw validationError(`Invalid ${name}: Expression size has exceeded the maximum allowed size;`)
    }
  }
}

/** Throws ValidationException for expression values of over 2 MB together. */
export function checkSubstitutionSize(values: WireItem): void {
  if (itemSize(values) > MAX_SUBSTITUTION_BYTES) {
    throw validationError('ExpressionAttributeValues have exceeded the maximum allowed size of 2 MB')
  }
}

/** The refusal of a key that is longer, as UTF-8, than a key may be; null when it is not. */
export function checkKeyBytes(key: WireItem, table: TableDefinition): Error | null {
  const [partition, sort] = table.KeySchema.map(({ AttributeName }) => Buffer.byteLength(key[AttributeName]?.S ?? ''))
  if (partition !== undefined && partition > MAX_PARTITION_KEY_BYTES) {
    return validationError(
      'One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes',
    )
  }
  if (sort !== undefined && sort > MAX_SORT_KEY_BYTES) {
    return validationError(
      'One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes',
    )
  }
  return null
}

/** The refusal of an item that an action would store: too deep, or with a number out of range; null when it is fine. */
export function checkStoredItem(item: WireItem): Error | null {
  for (const value of Object.values(item)) {
    if (nesting(value) > MAX_NESTING) {
      return validationError(
        'Nesting Levels have exceeded supported limits: Attributes have nested levels beyond supported limit',
      )
    }
    const refusal = validations.validateAttributeValue(value)
    if (refusal) return validationError(refusal)
  }
  return null
}

function nesting(value: WireValue): number {
  const children = value.L ?? (value.M && Object.values(value.M))
  if (!children) return 0
  let deepest = 0
  for (const child of children) deepest = Math.max(deepest, nesting(child))
  return deepest + 1
}
