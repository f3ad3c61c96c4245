import { closingOf } from './open-block.ts'

const EXCERPT_CODE_POINTS = 2_000

/**
 * What the catalog shows of a summary: its first 2,000 code points, and what closes a block of Markdown that is left
 * open and would swallow what follows.
 */
export function excerptOf(summary: string): string {
  const text = summary.slice(0, codePointsEnd(summary, EXCERPT_CODE_POINTS))
  return text + closingOf(text)
}

/** The index behind so many code points. */
function codePointsEnd(text: string, count: number): number {
  let index = 0
  for (let left = count; left > 0 && index < text.length; left--) {
    index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1
  }
  return index
}
