import { expect, it } from 'vitest'
import { readRange } from '../../lambdas/shared/byte-range.ts'
import { noneMatchNames } from '../../lambdas/shared/etag.ts'

it.each([
  ['bytes=0-0', { start: 0, end: 0 }],
  ['bytes=2-5', { start: 2, end: 5 }],
  ['bytes=9-9', { start: 9, end: 9 }],
  ['bytes=9-10', { start: 9, end: 9 }],
  ['bytes=0-99999999999999999999999', { start: 0, end: 9 }],
  ['bytes=3-', { start: 3, end: 9 }],
  ['bytes=-1', { start: 9, end: 9 }],
  ['bytes=-10', { start: 0, end: 9 }],
  ['bytes=-11', { start: 0, end: 9 }],
  [`bytes=-${'9'.repeat(400)}`, { start: 0, end: 9 }],
  ['Bytes=1-2', { start: 1, end: 2 }],
  ['bytes=, 1-2 ,', { start: 1, end: 2 }],
  [' bytes=1-2 ', { start: 1, end: 2 }],
  ['bytes=10-', 'unsatisfiable'],
  ['bytes=10-12', 'unsatisfiable'],
  [`bytes=${'9'.repeat(400)}-`, 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=5-3', undefined],
  ['bytes=12-11', undefined],
  ['bytes=1-2,4-5', undefined],
  ['bytes=', undefined],
  ['bytes=-', undefined],
  ['bytes=a-b', undefined],
  ['bytes=1-2-3', undefined],
  ['bytes=+1-2', undefined],
  ['bytes 1-2', undefined],
  ['items=1-2', undefined],
  ['', undefined],
])('of ten bytes %s is %j', (value, expected) => {
  expect(readRange([value], 10)).toStrictEqual(expected)
})

it('of no bytes there is no range', () => {
  expect(readRange(['bytes=0-'], 0)).toBe('unsatisfiable')
  expect(readRange(['bytes=-5'], 0)).toBeUndefined()
})

it('no header, and two, ask for the whole', () => {
  expect(readRange([], 10)).toBeUndefined()
  expect(readRange(['bytes=0-1', 'bytes=2-3'], 10)).toBeUndefined()
})

it.each([
  [['"a"'], true],
  [['W/"a"'], true],
  [['"b", "a"'], true],
  [['"b"', 'W/"c","a"'], true],
  [['*'], true],
  [[' * '], true],
  [['"b"'], false],
  [['a'], false],
  [['"a'], false],
  [['"A"'], false],
  [['w/"aa"'], false],
  [[''], false],
  [[], false],
])('%j names the tag "a": %s', (values, expected) => {
  expect(noneMatchNames(values, '"a"')).toBe(expected)
})
