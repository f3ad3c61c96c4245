import { createHash } from 'node:crypto'
import { stringifyJson } from '../src/json.ts'

/** A body of a request, ready to be sent as often as needed. */
export type JsonBody = string | LargeBody

/** JSON text too long to stand in memory as one string; `sha256`: of its UTF-8, hex. */
export interface LargeBody {
  blob: Blob
  sha256: string
}

/** Text beyond this many code units is turned into bytes at once, piece by piece. */
const PIECE_LENGTH = 262_144
/** A checkpoint's files are three levels down in its request: each is a piece of its own. */
const LEVELS = 3

/** The JSON of an object, as `stringifyJson` makes it. */
export function jsonBody(value: object): JsonBody {
  const parts: Blob[] = []
  const hash = createHash('sha256')
  let text = ''
  const flush = () => {
    parts.push(new Blob([text]))
    hash.update(text)
    text = ''
  }
  for (const piece of jsonPieces(value, LEVELS)) {
    text += piece
    if (text.length > PIECE_LENGTH) flush()
  }
  if (parts.length === 0) return text
  flush()
  return { blob: new Blob(parts), sha256: hash.digest('hex') }
}

/** The JSON of an object or array in pieces: what stands `levels` down is one piece, what is above is taken apart. */
function* jsonPieces(value: object, levels: number): Generator<string> {
  const isArray = Array.isArray(value)
  let separator = isArray ? '[' : '{'
  for (const [name, item] of isArray ? value.entries() : Object.entries(value)) {
    const taken = levels > 1 && isPlain(item)
    const text = taken ? '' : textOf(item)
    // In an array it keeps its place as null, which a property does not.
    if (text === undefined && !isArray) continue
    yield isArray ? separator : `${separator}${JSON.stringify(name)}:`
    if (taken) yield* jsonPieces(item, levels - 1)
    else yield text ?? 'null'
    separator = ','
  }
  yield separator === ',' ? (isArray ? ']' : '}') : isArray ? '[]' : '{}'
}

/** Whether JSON takes the value as it stands: an object or array that does not say itself what it becomes. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return false
  return Array.isArray(value) || Object.prototype.toString.call(value) === '[object Object]'
}

/** Undefined for what JSON leaves out. */
function textOf(value: unknown): string | undefined {
  return stringifyJson(value) as string | undefined
}
