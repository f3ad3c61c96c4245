import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './characters.ts'

/**
 * Reads the source of JSON that `JSON.parse` has accepted, where the parsed value will not do: it loses digits of
 * numbers, the order of keys that look like indexes, escapes, and all but the last of members with one name. Nothing
 * here recurses, so that no depth is too much. Of other text the results mean nothing.
 */

/** Where something stands in a text: `text.slice(start, end)`. */
export interface Span {
  start: number
  end: number
}

export interface JsonMember {
  /** Without its escapes. */
  name: string
  /** The name as it stands, with its quotes. */
  key: Span
  value: Span
}

/** The value without white space between its parts; all of the text when no span is given. */
export function compactJson(text: string, { start, end }: Span = { start: 0, end: text.length }): string {
  const parts: string[] = []
  let from = start
  let index = start
  while (index < end) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = stringEnd(text, index)
    else if (isSpace(code)) {
      parts.push(text.slice(from, index))
      index = from = skipSpace(text, index)
    } else index += 1
  }
  parts.push(text.slice(from, end))
  return parts.join('')
}

/** The members of the object that begins at `start` or behind white space there, in their order; none of another value. */
export function jsonMembers(text: string, start = 0): JsonMember[] {
  const members: JsonMember[] = []
  let index = skipSpace(text, start)
  if (text.charCodeAt(index) !== OPEN_BRACE) return members
  index = skipSpace(text, index + 1)
  while (text.charCodeAt(index) === QUOTE) {
    const key = { start: index, end: stringEnd(text, index) }
    // Behind the colon.
    const valueStart = skipSpace(text, skipSpace(text, key.end) + 1)
    const value = { start: valueStart, end: valueEnd(text, valueStart) }
    members.push({ name: decode(text, key), key, value })
    index = skipSpace(text, value.end)
    if (text.charCodeAt(index) === COMMA) index = skipSpace(text, index + 1)
  }
  return members
}

/** The elements of the array that begins at `start` or behind white space there; none of another value. */
export function jsonElements(text: string, start = 0): Span[] {
  const elements: Span[] = []
  let index = skipSpace(text, start)
  if (text.charCodeAt(index) !== OPEN_BRACKET) return elements
  index = skipSpace(text, index + 1)
  while (index < text.length && text.charCodeAt(index) !== CLOSE_BRACKET) {
    const element = { start: index, end: valueEnd(text, index) }
    elements.push(element)
    index = skipSpace(text, element.end)
    if (text.charCodeAt(index) === COMMA) index = skipSpace(text, index + 1)
  }
  return elements
}

/** An object or array that is open. */
interface Open {
  /** The names that an object has had; undefined for an array. */
  names?: Set<string>
  /** The name or index of the value that is read now. */
  at: string | number
}

/** The names and indexes that lead to a value. */
export type JsonPath = Array<string | number>

/** The first of `duplicateMembers`. */
export function duplicateMember(text: string): JsonPath | undefined {
  return duplicateMembers(text).next().value
}

/**
 * The members of objects, at any depth, whose name another member of that object has already. Names are compared without
 * their escapes.
 */
export function* duplicateMembers(text: string): Generator<JsonPath, undefined> {
  const open: Open[] = []
  let nameNext = false
  let index = 0
  while (index < text.length) {
    const code = text.charCodeAt(index)
    const current = open.at(-1)
    if (code === QUOTE) {
      const end = stringEnd(text, index)
      if (nameNext && current?.names) {
        const name = decode(text, { start: index, end })
        current.at = name
        if (current.names.has(name)) yield open.map(({ at }) => at)
        current.names.add(name)
        nameNext = false
      }
      index = end
      continue
    }
    if (code === OPEN_BRACE) {
      open.push({ names: new Set(), at: '' })
      nameNext = true
    } else if (code === OPEN_BRACKET) open.push({ at: 0 })
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      open.pop()
      nameNext = false
    } else if (code === COMMA && current) {
      if (typeof current.at === 'number') current.at += 1
      else nameNext = true
    }
    index += 1
  }
  return undefined
}

function decode(text: string, { start, end }: Span): string {
  const inner = text.slice(start + 1, end - 1)
  return inner.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : inner
}

/** The index behind the string that begins at `start`. */
export function stringEnd(text: string, start: number): number {
  let index = start
  do {
    index = text.indexOf('"', index + 1)
    if (index < 0) return text.length
  } while (isEscaped(text, index))
  return index + 1
}

/** Whether an odd number of backslashes stands before the index. */
function isEscaped(text: string, index: number): boolean {
  let before = index - 1
  while (text.charCodeAt(before) === BACKSLASH) before -= 1
  return (index - before) % 2 === 0
}

/** The index behind the value that begins at `start`. */
function valueEnd(text: string, start: number): number {
  let depth = 0
  let index = start
  while (index < text.length) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) {
      index = stringEnd(text, index)
      if (depth === 0) return index
      continue
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth += 1
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      // Of what the value is in, when it is a number or a word.
      if (depth === 0) return index
      depth -= 1
      if (depth === 0) return index + 1
    } else if (depth === 0 && (code === COMMA || isSpace(code))) return index
    index += 1
  }
  return index
}

function skipSpace(text: string, start: number): number {
  let index = start
  while (isSpace(text.charCodeAt(index))) index += 1
  return index
}

/** Space, tab, line feed, carriage return: JSON has no other. */
function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d
}
