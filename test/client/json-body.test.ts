import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { jsonBody } from '../../client/json-body.ts'
import { stringifyJson } from '../../src/json.ts'

const files = Array.from({ length: 10_000 }, (_, index) => ({
  path: `caf\u00e9/\u{1f600}/${index}`,
  size: -0,
  mode: undefined,
}))

describe('the JSON of a request', () => {
  it.each<[string, object]>([
    ['nothing', {}],
    ['scalars', { a: 1, b: -0, c: null, d: 'x"\\\n', e: true, 'a "name"': 1 }],
    ['what is left out', { a: undefined, b: () => 1, c: Symbol('c'), d: 1, e: [undefined, () => 1, Symbol('e')] }],
    ['empty parts', { a: {}, b: [], c: { d: [], e: {} } }],
    ['deep parts', { a: { b: { c: { d: [{ e: 1 }] } } }, f: [[[[1], 2], 3], 4] }],
    ['a part that says itself what it becomes', { a: new Date(0), b: { toJSON: () => 5 }, c: [new Date(1)] }],
    ['what is no plain object', { a: new Map([[1, 2]]), b: new String('s'), c: Object.create({ d: 1 }) }],
    ['half surrogates', { checkpoint: { label: '\ud800', conversation: ['\udfff', { '\ud800': 1 }] } }],
  ])('is that of stringifyJson: %s', (_what, body) => {
    expect(jsonBody(body)).toBe(stringifyJson(body))
  })

  it('is the same when it is long, with the hash of its bytes', async () => {
    const body = {
      checkpoint: { id: 'a', files, conversation: ['\ud83d'.repeat(300_000), '\ude00'] },
      request_token: 't',
    }
    const made = jsonBody(body)
    if (typeof made === 'string') throw new Error('It was expected to be a large body.')
    expect(await made.blob.text()).toBe(stringifyJson(body))
    expect(made.sha256).toBe(createHash('sha256').update(stringifyJson(body)).digest('hex'))
  })
})
