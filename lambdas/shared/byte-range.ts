/** The bytes from `start` to `end`, both included. */
export interface ByteRange {
  start: number
  end: number
}

const rangeSpec = /^(\d*)-(\d*)$/

/**
 * The range that a request asks for of a representation of `size` bytes.
 * @param values of the header `Range`
 * @returns undefined where the whole is to be sent: no range, several, or one that is malformed; `unsatisfiable` where no
 *   byte of it is there
 */
export function readRange(values: readonly string[], size: number): ByteRange | 'unsatisfiable' | undefined {
  const [value, ...others] = values
  if (value === undefined || others.length > 0) return undefined
  const [, set = ''] = /^bytes=(.*)$/i.exec(value.trim()) ?? []
  // A list may have empty elements, which stand for nothing.
  const [spec, ...more] = set.split(',').flatMap((part) => part.trim() || [])
  const [, first = '', last = ''] = rangeSpec.exec(spec ?? '') ?? []
  if (more.length > 0 || (first === '' && last === '')) return undefined
  if (first === '') return suffix(Number(last), size)
  return between(Number(first), last === '' ? Number.POSITIVE_INFINITY : Number(last), size)
}

function suffix(length: number, size: number): ByteRange | 'unsatisfiable' | undefined {
  if (length === 0) return 'unsatisfiable'
  // All of nothing is nothing, which has no first byte to name.
  return size === 0 ? undefined : { start: Math.max(0, size - length), end: size - 1 }
}

function between(start: number, last: number, size: number): ByteRange | 'unsatisfiable' | undefined {
  if (last < start) return undefined
  return start >= size ? 'unsatisfiable' : { start, end: Math.min(last, size - 1) }
}
