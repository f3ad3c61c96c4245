import { describe, expect, it } from 'vitest'
import { brokenJsonLimit } from '../../src/json/limits.ts'
import { MAX_JSON_DEPTH, MAX_JSON_MARKS } from '../../src/limits.ts'

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

describe('a text may be parsed', () => {
  it('with the manifest of 100,000 files', () => {
    const blobKey = `sandbox-files/sha256/${'a'.repeat(64)}`
    const file = (index: number) => ({ path: `dir/file-${index}`, kind: 'file', blobKey, size: index, mode: 420 })
    const files = Array.from({ length: 100_000 }, (_, index) => file(index))
    const message = { role: 'user', content: [{ type: 'text', text: 'Go on, [then].' }] }
    const conversation = Array.from({ length: 100_000 }, () => message)
    expect(brokenJsonLimit(JSON.stringify({ files, conversation }))).toBeUndefined()
  })

  it('as deep as is allowed, however often', () => {
    expect(brokenJsonLimit(`[${nested(MAX_JSON_DEPTH - 1)},${nested(MAX_JSON_DEPTH - 1)}]`)).toBeUndefined()
    expect(brokenJsonLimit(nested(MAX_JSON_DEPTH + 1))).toBe('depth')
    expect(brokenJsonLimit('{"a":'.repeat(MAX_JSON_DEPTH + 1))).toBe('depth')
  })

  it('with as many commas and brackets as are allowed', () => {
    expect(brokenJsonLimit(`[${','.repeat(MAX_JSON_MARKS - 1)}`)).toBeUndefined()
    expect(brokenJsonLimit(`[${','.repeat(MAX_JSON_MARKS)}`)).toBe('marks')
    expect(brokenJsonLimit('[],'.repeat(MAX_JSON_MARKS / 2 + 1))).toBe('marks')
    expect(brokenJsonLimit('{},'.repeat(MAX_JSON_MARKS / 2 + 1))).toBe('marks')
  })

  it('with any of those in its strings', () => {
    expect(brokenJsonLimit(JSON.stringify({ '[[{,': '[,{'.repeat(MAX_JSON_MARKS) }))).toBeUndefined()
    expect(brokenJsonLimit(`["\\"${'['.repeat(MAX_JSON_DEPTH + 1)}"]`)).toBeUndefined()
    expect(brokenJsonLimit(`["\\\\",${nested(MAX_JSON_DEPTH)}]`)).toBe('depth')
  })

  it('when it is no JSON at all, for the parser to say so', () => {
    for (const text of ['', '"', '"\\', ']]]', '[}', '\\"[']) expect(brokenJsonLimit(text)).toBeUndefined()
  })
})

it('what is refused is refused before most of it is read', () => {
  const huge = '[],'.repeat(22_000_000)
  const begun = performance.now()
  expect(brokenJsonLimit(huge)).toBe('marks')
  // To parse it takes seconds, and gigabytes.
  expect(performance.now() - begun).toBeLessThan(1_000)
})
