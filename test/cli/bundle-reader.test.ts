import { createHash } from 'node:crypto'
import { fc, test as property } from '@fast-check/vitest'
import { expect, test } from 'vitest'
import { DamagedContentError } from '../../cli/errors.ts'
import { BundleReader } from '../../cli/transfer/bundle-reader.ts'
import type { BundleEntry } from '../../src/bundles/types.ts'

const keyOf = (bytes: Uint8Array) => `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`

function entryAt(bundle: Buffer, offset: number, size: number): BundleEntry {
  return { key: keyOf(bundle.subarray(offset, offset + size)), size, offset }
}

function read(bundle: Buffer, entries: readonly BundleEntry[], cuts: readonly number[] = []): Buffer[] {
  const taken: Buffer[] = []
  const reader = new BundleReader(entries, (_entry, bytes) => taken.push(Buffer.from(bytes)))
  let from = 0
  for (const cut of [...cuts, bundle.length]) {
    reader.push(bundle.subarray(from, cut))
    from = cut
  }
  reader.finish()
  return taken
}

property.prop([
  fc.array(fc.record({ bytes: fc.uint8Array({ maxLength: 40 }), wanted: fc.boolean() }), { maxLength: 12 }),
  fc.array(fc.nat(480), { maxLength: 10 }),
])('takes out just the wanted blobs, however the bytes come', (parts, cuts) => {
  const bundle = Buffer.concat(parts.map(({ bytes }) => bytes))
  const entries: BundleEntry[] = []
  let offset = 0
  for (const { bytes, wanted } of parts) {
    if (wanted) entries.push({ key: keyOf(bytes), size: bytes.length, offset })
    offset += bytes.length
  }
  const sorted = cuts.map((cut) => Math.min(cut, bundle.length)).sort((left, right) => left - right)
  expect(read(bundle, entries, sorted)).toEqual(
    parts.filter(({ wanted }) => wanted).map(({ bytes }) => Buffer.from(bytes)),
  )
})

const bundle = Buffer.from('one two three four')

test.for([
  ['goes back', [entryAt(bundle, 8, 5), entryAt(bundle, 0, 3)]],
  ['ends behind the bundle', [{ ...entryAt(bundle, 14, 4), size: 5 }]],
  ['begins behind the bundle', [{ ...entryAt(bundle, 14, 4), offset: 100 }]],
  ['is of other bytes', [{ ...entryAt(bundle, 0, 3), offset: 4 }]],
] as const)('refuses an entry that %s', ([, entries]) => {
  expect(() => read(bundle, entries)).toThrow(DamagedContentError)
  expect(() => read(bundle, entries, [1, 9])).toThrow(DamagedContentError)
})

test('gives what is good before it meets what is damaged', () => {
  const entries = [entryAt(bundle, 0, 3), entryAt(bundle, 4, 3), entryAt(bundle, 8, 5)]
  const damaged = Buffer.from(bundle)
  damaged[9] = 0
  const taken: string[] = []
  const reader = new BundleReader(entries, (_entry, bytes) => taken.push(bytes.toString()))
  expect(() => reader.push(damaged)).toThrow(DamagedContentError)
  expect(taken).toEqual(['one', 'two'])
})
