import type { WireItem, WireValue } from './types.ts'

/** The most bytes that one item may have, attribute names included. */
export const MAX_ITEM_BYTES = 400 * 1024

/** The size of an item in bytes by DynamoDB's rules: names and strings as UTF-8, values by type. */
export function itemSize(item: WireItem): number {
  let size = 0
  for (const name of Object.keys(item)) size += Buffer.byteLength(name) + valueSize(item[name] ?? {})
  return size
}

function valueSize(value: WireValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S)
  if (value.N !== undefined) return numberSize(value.N)
  if (value.B !== undefined) return Buffer.byteLength(value.B, 'base64')
  if (value.M !== undefined) return 3 + Object.keys(value.M).length + itemSize(value.M)
  if (value.L !== undefined) return value.L.reduce((sum, element) => sum + 1 + valueSize(element), 3)
  if (value.SS !== undefined) return value.SS.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  if (value.NS !== undefined) return value.NS.reduce((sum, number) => sum + numberSize(number), 0)
  if (value.BS !== undefined) return value.BS.reduce((sum, bytes) => sum + Buffer.byteLength(bytes, 'base64'), 0)
  return 1
}

/** One byte for two significant digits, one for the exponent, one for a minus sign. */
function numberSize(number: string): number {
  const [mantissa = ''] = number.toLowerCase().split('e')
  const digits = mantissa.replace(/[-+.]/g, '').replace(/^0+/, '').replace(/0+$/, '')
  if (digits === '') return 1
  return 1 + Math.ceil(digits.length / 2) + (number.startsWith('-') ? 1 : 0)
}

/** Write capacity units of one plain write, in steps of 1 KB of the larger of the old and the new item. */
export function writeUnits(oldItem: WireItem | undefined, newItem: WireItem | undefined): number {
  const bytes = Math.max(oldItem ? itemSize(oldItem) : 0, newItem ? itemSize(newItem) : 0)
  return Math.max(1, Math.ceil(bytes / 1024))
}
