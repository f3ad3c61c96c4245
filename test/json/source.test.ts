import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compactJson, duplicateMember, jsonElements, jsonMembers } from '../../src/json/source.ts'

const SEED = 20_261_104
const spaces = fc.stringMatching(/^[ \t\r\n]{0,2}$/)

/** JSON source with white space anywhere, and the same without. */
const source: fc.Arbitrary<{ spaced: string; compact: string }> = fc.letrec<{
  value: { spaced: string; compact: string }
}>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc
      .constantFrom('0', '-0', '1e400', '12345678901234567890.10', '1E+2', 'true', 'null', '""', '"\\u0041 \\" \\\\"')
      .map((text) => ({ spaced: text, compact: text })),
    fc.string({ unit: 'binary' }).map((text) => ({ spaced: JSON.stringify(text), compact: JSON.stringify(text) })),
    fc.tuple(spaces, fc.array(tie('value'), { maxLength: 4 })).map(([space, items]) => ({
      spaced: `[${space}${items.map(({ spaced }) => spaced + space).join(`,${space}`)}]`,
      compact: `[${items.map(({ compact }) => compact).join()}]`,
    })),
    fc
      .tuple(spaces, fc.uniqueArray(fc.tuple(fc.string(), tie('value')), { maxLength: 4, selector: ([name]) => name }))
      .map(([space, members]) => ({
        spaced: `{${space}${members.map(([name, { spaced }]) => `${JSON.stringify(name)}${space}:${space}${spaced}${space}`).join(`,${space}`)}}`,
        compact: `{${members.map(([name, { compact }]) => `${JSON.stringify(name)}:${compact}`).join()}}`,
      })),
  ),
})).value

const textOf = (text: string) => (span: { start: number; end: number }) => text.slice(span.start, span.end)

describe('the compact source', () => {
  it('is the source without white space between its parts, to the character', () => {
    fc.assert(
      fc.property(source, spaces, ({ spaced, compact }, space) => {
        JSON.parse(spaced)
        expect(compactJson(space + spaced + space)).toBe(compact)
        expect(compactJson(compact)).toBe(compact)
      }),
      { seed: SEED, numRuns: 500 },
    )
  })

  it('of a part is that of its span', () => {
    const text = ' { "a" : [ 1 , 2 ] , "b" : 3 } '
    const [a] = jsonMembers(text)
    expect(a && compactJson(text, a.value)).toBe('[1,2]')
    expect(compactJson(text)).toBe('{"a":[1,2],"b":3}')
  })
})

describe('the members of an object and the elements of an array', () => {
  it('stand where they say', () => {
    const text = '\n{ "a\\u0062" : 1e400 ,"":"}\\"" , "\\ud83d" : { "x":[{}] },"n":null}'
    const members = jsonMembers(text)
    expect(members.map(({ name }) => name)).toEqual(['ab', '', '\ud83d', 'n'])
    expect(members.map(({ key }) => textOf(text)(key))).toEqual(['"a\\u0062"', '""', '"\\ud83d"', '"n"'])
    expect(members.map(({ value }) => textOf(text)(value))).toEqual(['1e400', '"}\\""', '{ "x":[{}] }', 'null'])
    const list = '[ 1,"]" ,[ 2 , 3],{"a":[]},-0 ]'
    expect(jsonElements(list).map(textOf(list))).toEqual(['1', '"]"', '[ 2 , 3]', '{"a":[]}', '-0'])
  })

  it('are those that JSON.parse finds', () => {
    fc.assert(
      fc.property(source, ({ spaced }) => {
        const parsed: unknown = JSON.parse(spaced)
        const parse = (span: { start: number; end: number }): unknown => JSON.parse(textOf(spaced)(span))
        if (Array.isArray(parsed)) expect(jsonElements(spaced).map(parse)).toEqual(parsed)
        else expect(jsonElements(spaced)).toEqual([])
        const members = jsonMembers(spaced)
        if (parsed && typeof parsed === 'object' && !Array.isArray(parsed)) {
          expect(new Map(members.map(({ name, value }) => [name, parse(value)]))).toEqual(
            new Map(Object.entries(parsed)),
          )
        } else expect(members).toEqual([])
      }),
      { seed: SEED, numRuns: 500 },
    )
  })

  it('of nothing are none', () => {
    for (const text of ['{}', ' { } ', '[]', '"{"', '1', '', '"']) expect(jsonMembers(text)).toEqual([])
    for (const text of ['[]', ' [ ] ', '{}', '"["', '']) expect(jsonElements(text)).toEqual([])
  })
})

describe('a duplicate member', () => {
  it.each<[string, Array<string | number>]>([
    ['{"a":1,"a":2}', ['a']],
    ['{"a":1,"\\u0061":2}', ['a']],
    ['{"m":{"t":[1,{"x":1,"y":{},"x":2}]}}', ['m', 't', 1, 'x']],
    ['[0,[{"":1,"":2}]]', [1, 0, '']],
    ['{"__proto__":1,"a":{"a":1},"__proto__":2}', ['__proto__']],
    ['{"\\ud83d":1,"\\uD83D":2}', ['\ud83d']],
    ['{"a":"b","b":[],"c":{},"b":1}', ['b']],
  ])('is found in %s', (text, path) => {
    expect(duplicateMember(text)).toEqual(path)
  })

  it('is not found where names only recur', () => {
    for (const text of ['{"a":{"a":[{"a":"a"},{"a":"a"}]},"A":"a"}', '["a","a"]', '{"a":",\\"a\\":"}', '1', '{}']) {
      expect(duplicateMember(text)).toBeUndefined()
    }
    fc.assert(
      fc.property(source, ({ spaced }) => {
        expect(duplicateMember(spaced)).toBeUndefined()
      }),
      { seed: SEED, numRuns: 300 },
    )
  })
})

describe('no depth', () => {
  it('is too much', () => {
    const depth = 500_000
    const text = `{"a":${'[{"b":'.repeat(depth)}1${'}]'.repeat(depth)} }`
    expect(compactJson(text)).toHaveLength(text.length - 1)
    expect(jsonMembers(text)).toHaveLength(1)
    expect(duplicateMember(text)).toBeUndefined()
  })

  it('nor any number of backslashes', () => {
    const text = JSON.stringify({ a: '\\'.repeat(500_000), b: 1 })
    expect(jsonMembers(text).map(({ name }) => name)).toEqual(['a', 'b'])
  })
})
