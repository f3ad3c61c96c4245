import { expect, test } from 'vitest'
import {
  BUNDLE_BYTES,
  type BundlePlan,
  MAX_BUNDLED_BYTES,
  MIN_BLOBS,
  planBundles,
  planDownloads,
} from '../../src/bundles/plan.ts'
import { decodeSet, encodeSet } from '../../src/bundles/set.ts'
import type { Bundle, SizedBlob } from '../../src/bundles/types.ts'
import { hashText } from '../../src/text.ts'
import { seededRandom } from '../store/support/stores.ts'

const blob = (name: string | number, size = 20_000): SizedBlob => ({
  key: `sandbox-files/sha256/${hashText(String(name))}`,
  size,
})
const many = (from: number, to: number, size?: number) =>
  Array.from({ length: to - from }, (_, index) => blob(from + index, size))
const bytesOf = (blobs: readonly SizedBlob[]) => blobs.reduce((sum, { size }) => sum + size, 0)

/** The bundles that there are after a plan was carried out. */
function carryOut(plan: BundlePlan, name = 'made'): Bundle[] {
  return [...plan.keep, ...plan.make.map((blobs, index) => ({ id: `${name}-${index}`, blobs }))]
}

test('small blobs are put together in their order, in bundles of about one size', () => {
  const blobs = many(0, 5_000)
  const { keep, make, left } = planBundles(blobs, [])
  expect(make.flat()).toEqual(blobs)
  expect([keep, left]).toEqual([[], []])
  expect(make).toHaveLength(12)
  for (const bundle of make) {
    expect(bytesOf(bundle)).toBeLessThanOrEqual(BUNDLE_BYTES + MAX_BUNDLED_BYTES)
    expect(bytesOf(bundle)).toBeGreaterThan(BUNDLE_BYTES * 0.9)
  }
})

test('large blobs, artifacts and repeated keys take no part', () => {
  const small = many(0, 40)
  const artifact = { key: `sandbox-artifacts/sha256/${hashText('artifact')}`, size: 5 }
  const { make } = planBundles([...small, ...small, blob('large', MAX_BUNDLED_BYTES + 1), artifact], [])
  expect(make).toEqual([small])
})

test('a few blobs are not worth a bundle', () => {
  const few = many(0, MIN_BLOBS - 1)
  expect(planBundles(few, [])).toEqual({ keep: [], make: [], left: few })
  expect(planBundles(many(0, MIN_BLOBS), []).make).toHaveLength(1)
  expect(planBundles([], [])).toEqual({ keep: [], make: [], left: [] })
})

test('empty files are bundled too', () => {
  const empty = many(0, MIN_BLOBS, 0)
  const plan = planBundles(empty, [])
  expect(plan.make).toEqual([empty])
  expect(planBundles(empty, carryOut(plan)).keep).toHaveLength(1)
})

test('a save of few changes leaves all bundles as they are', () => {
  const before = carryOut(planBundles(many(0, 5_000), []))
  const changed = [...many(10, 5_000), ...many(9_000, 9_010)]
  expect(planBundles(changed, before)).toEqual({ keep: before, make: [], left: many(9_000, 9_010) })
})

test.for([
  ['exactly half', 50, 1],
  ['less than half', 49, 0],
] as const)('a bundle of which %s is used', ([, used, kept]) => {
  const bundle = { id: 'old', blobs: many(0, 100) }
  const plan = planBundles(many(0, used), [bundle])
  expect(plan.keep).toHaveLength(kept)
  expect(plan.make.flat()).toEqual(kept ? [] : many(0, used))
})

test('a bundle is not used for a blob of another size, nor for one that an earlier bundle holds', () => {
  const twice = [
    { id: 'a', blobs: many(0, 100) },
    { id: 'b', blobs: many(0, 100) },
  ]
  expect(planBundles(many(0, 100), twice).keep.map(({ id }) => id)).toEqual(['a'])
  const wrong = { id: 'c', blobs: many(0, 100, 7) }
  expect(planBundles(many(0, 100), [wrong]).keep).toEqual([])
})

test('new bundles take in smaller ones, and leave larger ones', () => {
  const large = { id: 'large', blobs: many(0, 300) }
  const small = { id: 'small', blobs: many(1_000, 1_032) }
  const plan = planBundles([...many(0, 300), ...many(1_000, 1_072)], [large, small])
  expect(plan.keep).toEqual([large])
  expect(plan.make).toEqual([many(1_000, 1_072)])
})

test('after many small saves all but a few blobs are in few bundles, and each was written a few times', () => {
  const random = seededRandom(7)
  let next = 20_000
  const workspace = many(0, 2_000, 5_000)
  let bundles: Bundle[] = []
  let written = 0
  for (let save = 0; save < 400; save += 1) {
    for (let change = 0; change < 10; change += 1) {
      workspace[Math.floor(random() * workspace.length)] = blob(next++, 5_000)
    }
    const plan = planBundles(workspace, bundles)
    written += plan.make.flat().length
    bundles = carryOut(plan, `save-${save}`)
    expect(plan.left.length).toBeLessThan(MIN_BLOBS)
    expect(bundles.length).toBeLessThan(12)
    const used = new Set(workspace.map(({ key }) => key))
    for (const { blobs } of plan.keep) {
      expect(bytesOf(blobs.filter(({ key }) => used.has(key))) * 2).toBeGreaterThanOrEqual(bytesOf(blobs))
    }
    const inBundles = new Set([...bundles.flatMap(({ blobs }) => blobs), ...plan.left].map(({ key }) => key))
    expect(workspace.every(({ key }) => inBundles.has(key))).toBe(true)
  }
  expect(written / (next - 20_000 + 2_000)).toBeLessThan(6)
})

test('a restore takes bundles with the offsets of what it wants, and the rest by itself', () => {
  const bundle = { id: 'a', blobs: [...many(0, 50), blob('gone'), ...many(50, 100)] }
  const wanted = [...many(0, 100), blob('outside'), blob('large', 1_000_000)]
  const { bundles, single } = planDownloads(wanted, [bundle])
  expect(bundles).toEqual([{ id: 'a', size: 101 * 20_000, entries: expect.any(Array) }])
  expect(bundles[0]?.entries.map(({ offset }) => offset / 20_000)).toEqual(
    Array.from({ length: 101 }, (_, index) => index).filter((index) => index !== 50),
  )
  expect(single).toEqual([blob('outside'), blob('large', 1_000_000)])
})

test('a restore leaves a bundle of which it would throw most away', () => {
  const bundle = { id: 'a', blobs: many(0, 400) }
  expect(planDownloads(many(0, 400), [bundle]).bundles).toHaveLength(1)
  // 399 blobs of 20,000 bytes are more than one request is worth; 29 requests are worth them.
  expect(planDownloads(many(0, 1), [bundle])).toEqual({ bundles: [], single: many(0, 1) })
  expect(planDownloads(many(0, 29), [bundle]).bundles).toHaveLength(1)
  expect(planDownloads(many(0, 28), [bundle]).single).toHaveLength(28)
})

test('the list of bundles reads back as it was written, and one of another format as none', () => {
  const bundles = [
    { id: 'a', blobs: [...many(0, 3), blob('empty', 0)] },
    { id: 'b', blobs: [] },
  ]
  expect(decodeSet(encodeSet(bundles))).toEqual(bundles)
  expect(decodeSet(Buffer.from('{"format":2,"bundles":[{"id":"a","packs":1}]}'))).toEqual([])
})
