import { MAX_JSON_DEPTH, MAX_JSON_MARKS } from '../limits.ts'
import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './characters.ts'
import { stringEnd } from './source.ts'

/**
 * Whether a text, which need not be JSON, has more in it than may be parsed: `JSON.parse` makes of 64 MiB of `[],` some
 * twenty million objects. One pass, which ends at the first that is too much.
 * @returns the limit that is broken
 */
export function brokenJsonLimit(text: string): 'depth' | 'marks' | undefined {
  let depth = 0
  let marks = 0
  let index = 0
  while (index < text.length) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) {
      index = stringEnd(text, index)
      continue
    }
    if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth -= 1
    else if (code === COMMA || code === OPEN_BRACKET || code === OPEN_BRACE) {
      marks += 1
      if (marks > MAX_JSON_MARKS) return 'marks'
      if (code !== COMMA) depth += 1
      if (depth > MAX_JSON_DEPTH) return 'depth'
    }
    index += 1
  }
  return undefined
}
