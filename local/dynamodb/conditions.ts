import dynaliteDb from 'dynalite/db/index.js'
import type { WireItem, WireValue } from './types.ts'

const { compare } = dynaliteDb

const ORDERS: { [operator: string]: '<' | '<=' | '>' | '>=' } = { LT: '<', LE: '<=', GT: '>', GE: '>=' }

/** dynalite's comparison, which it also checks key conditions with, but for strings in the order of their UTF-8 bytes. */
dynaliteDb.compare = (operator, value, others) => {
  const [first, second] = Array.isArray(others) ? others : [others]
  if (value?.S === undefined) return compare(operator, value, others)
  if (operator === 'BETWEEN') return ordered('>=', value, first) && ordered('<=', value, second)
  const order = ORDERS[operator]
  return order ? ordered(order, value, first) : compare(operator, value, others)
}

/** An operand as dynalite parses it: a document path, a call of size(), or a value. */
type Operand = (string | number)[] | { type: 'function'; name: 'size'; args: Operand[] } | WireValue

/** A condition as dynalite parses it. */
export type Condition =
  | { type: 'and' | 'or' | 'not'; args: Condition[] }
  | { type: 'function'; name: string; args: Operand[] }
  | { type: string; args: Operand[] }

/**
 * Whether an item fulfils a parsed ConditionExpression. dynalite compares lists and maps by reference, holds two missing
 * attributes for equal and orders strings by UTF-16 units; DynamoDB compares by value, and strings by their UTF-8 bytes.
 */
export function fulfils(item: WireItem, condition: Condition): boolean {
  const { type } = condition
  if (type === 'and') return nested(condition).every((part) => fulfils(item, part))
  if (type === 'or') return nested(condition).some((part) => fulfils(item, part))
  if (type === 'not') return nested(condition).every((part) => !fulfils(item, part))
  const operator = 'name' in condition ? condition.name : type
  const [left, ...right] = (condition.args as Operand[]).map((operand) => resolve(operand, item))
  return holds(operator, left, right)
}

function nested(condition: Condition): Condition[] {
  return condition.args as Condition[]
}

function holds(operator: string, left: WireValue | undefined, right: (WireValue | undefined)[]): boolean {
  const [first, second] = right
  switch (operator) {
    case '=':
      return equal(left, first)
    case '<>':
      return !equal(left, first)
    case 'in':
      return right.some((value) => equal(left, value))
    case '<':
    case '<=':
    case '>':
    case '>=':
      return ordered(operator, left, first)
    case 'between':
      return ordered('>=', left, first) && ordered('<=', left, second)
    case 'contains':
      return left?.L ? left.L.some((element) => equal(element, first)) : Boolean(compare(operator, left, right))
    default:
      return Boolean(compare(operator, left, right))
  }
}

function resolve(operand: Operand, item: WireItem): WireValue | undefined {
  if (!Array.isArray(operand)) {
    if (!('type' in operand)) return operand
    const value = operand.args[0] && resolve(operand.args[0], item)
    const size = value && sizeOf(value)
    return size === undefined ? undefined : { N: String(size) }
  }
  let value: WireValue | undefined = { M: item }
  for (const step of operand) {
    if (typeof step === 'number') value = value?.L?.[step]
    else value = value?.M && Object.hasOwn(value.M, step) ? value.M[step] : undefined
  }
  return value
}

function sizeOf(value: WireValue): number | undefined {
  if (value.B !== undefined) return Buffer.byteLength(value.B, 'base64')
  if (value.M) return Object.keys(value.M).length
  return (value.S ?? value.L ?? value.SS ?? value.NS ?? value.BS)?.length
}

function equal(a: WireValue | undefined, b: WireValue | undefined): boolean {
  if (!a || !b) return false
  if (a.L && b.L) return a.L.length === b.L.length && a.L.every((element, i) => equal(element, b.L?.[i]))
  if (a.M && b.M) {
    const names = Object.keys(a.M)
    return names.length === Object.keys(b.M).length && names.every((name) => equal(a.M?.[name], b.M?.[name]))
  }
  for (const set of ['SS', 'NS', 'BS'] as const) {
    const [left, right] = [a[set], b[set]]
    if (left && right) return left.length === right.length && left.every((element) => right.includes(element))
  }
  const scalars = ['S', 'N', 'B', 'BOOL', 'NULL'] as const
  return scalars.some((type) => a[type] !== undefined && a[type] === b[type])
}

function ordered(operator: '<' | '<=' | '>' | '>=', a: WireValue | undefined, b: WireValue | undefined): boolean {
  if (a?.N !== undefined && b?.N !== undefined) return Boolean(compare(operator, a, [b]))
  const left = bytesOf(a)
  const right = bytesOf(b)
  if (!left || !right || (a?.S === undefined) !== (b?.S === undefined)) return false
  const order = Buffer.compare(left, right)
  if (order === 0) return operator.length === 2
  return operator.startsWith('<') === order < 0
}

function bytesOf(value: WireValue | undefined): Buffer | undefined {
  if (value?.S !== undefined) return Buffer.from(value.S)
  return value?.B === undefined ? undefined : Buffer.from(value.B, 'base64')
}
