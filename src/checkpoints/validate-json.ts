import { SandboxCheckpointInvalidEntryError } from './errors.ts'

/** Deeper values would overflow the stack of JSON readers and writers; a cycle is deeper than any limit. */
const MAX_DEPTH = 1_000

/**
 * Refuses what JSON would lose or change in silence: functions, symbols, bigints, numbers that are not finite, dates,
 * maps, bytes, cycles. Properties that are `undefined` count as absent.
 * @throws SandboxCheckpointInvalidEntryError naming the place.
 */
export function checkJsonValue(value: unknown, place: string, depth = 0): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return
    case 'number':
      if (!Number.isFinite(value)) throw refused(place, 'a number that is not finite')
      return
    case 'object':
      if (value === null) return
      if (depth >= MAX_DEPTH) throw refused(place, `nested deeper than ${MAX_DEPTH} levels`)
      if (Array.isArray(value)) checkArray(value, place, depth)
      else checkObject(value, place, depth)
      return
    default:
      throw refused(place, `of type ${typeof value}`)
  }
}

function checkArray(array: unknown[], place: string, depth: number): void {
  for (let index = 0; index < array.length; index++) {
    const item = array[index]
    // Short-cut for the commonest case, so that the place is spelled out only where it is needed.
    if (typeof item === 'string') continue
    checkJsonValue(item, `${place}[${index}]`, depth + 1)
  }
}

function checkObject(object: object, place: string, depth: number): void {
  // The tag tells a plain object, of this realm or another, from a Map, a Date, bytes and the like.
  const tag = Object.prototype.toString.call(object).slice('[object '.length, -1)
  if (tag !== 'Object' || typeof Reflect.get(object, 'toJSON') === 'function') throw refused(place, `a ${tag}`)
  for (const [name, item] of Object.entries(object)) {
    if (item === undefined || typeof item === 'string') continue
    checkJsonValue(item, place === '' ? name : `${place}.${name}`, depth + 1)
  }
}

function refused(place: string, what: string): SandboxCheckpointInvalidEntryError {
  return new SandboxCheckpointInvalidEntryError(`${place} is ${what}: only JSON values can be kept.`)
}
