import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KeySet } from '../../src/sweep/key-set.ts'
import { sampleKeys } from './support/scope-under-sweep.ts'

interface Added {
  kind: 'files' | 'artifacts'
  hash: string
}

function keyOf({ kind, hash }: Added): string {
  return `sandbox-${kind}/sha256/${hash}`
}

/** Adds one packed list, files first. */
function addAll(set: KeySet, added: Added[]): void {
  const files = added.filter(({ kind }) => kind === 'files')
  const artifacts = added.filter(({ kind }) => kind === 'artifacts')
  set.addPacked(Buffer.from([...files, ...artifacts].map(({ hash }) => hash).join(''), 'hex'), files.length)
}

function countsOf(added: Added[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const one of added) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1)
  return counts
}

/** Of few bytes, so that keys come twice, of either kind, and with the same beginnings. */
const added = fc.record({
  kind: fc.constantFrom('files' as const, 'artifacts' as const),
  hash: fc.array(fc.constantFrom('00', '01', 'ff'), { minLength: 32, maxLength: 32 }).map((bytes) => bytes.join('')),
})
const repeated = fc
  .array(added, { minLength: 1, maxLength: 60 })
  .chain((pool) => fc.array(fc.constantFrom(...pool), { maxLength: 200 }).map((list) => ({ pool, list })))

/** As many as fit are 2,867. */
const LEAST_SLOTS = 4_096

describe('KeySet', () => {
  it('counts as a map does', () => {
    fc.assert(
      fc.property(repeated, fc.option(added), ({ pool, list }, from) => {
        const set = new KeySet(from ? { from: keyOf(from) } : {})
        addAll(set, list)
        const counts = countsOf(list)
        const covers = (key: string) => !from || key >= keyOf(from)
        for (const key of pool.map(keyOf)) expect(set.count(key)).toBe(covers(key) ? (counts.get(key) ?? 0) : undefined)
        expect(set.size).toBe([...counts.keys()].filter(covers).length)
      }),
    )
  })

  it('knows all below its limit when memory is short, and the rest in further passes', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 10_000 }), (seed, count) => {
        const hashes = sampleKeys(count, seed).map((key) => key.slice(-64))
        const list: Added[] = hashes.map((hash, index) => ({ kind: index % 3 === 0 ? 'artifacts' : 'files', hash }))
        // Some twice.
        list.push(...list.slice(0, count >> 2))
        const counts = countsOf(list)
        const keys = [...counts.keys()].sort()
        let passes = 0
        for (let next = 0; next < keys.length; passes++) {
          const set = new KeySet({ from: keys[next], maxSlots: LEAST_SLOTS })
          for (let start = 0; start < list.length; start += 1_000) addAll(set, list.slice(start, start + 1_000))
          const covered = keys.slice(next).filter((key) => set.count(key) !== undefined)
          expect(covered.length).toBeGreaterThan(0)
          expect(covered).toEqual(keys.slice(next, next + covered.length))
          for (const key of covered) expect(set.count(key)).toBe(counts.get(key))
          next += covered.length
        }
        // A pass that is cut keeps about half of what fits, at least.
        expect(passes).toBeLessThanOrEqual(Math.ceil(keys.length / 1_200))
      }),
      { numRuns: 5 },
    )
  })

  it('stays quick for keys that begin alike', () => {
    const set = new KeySet()
    const list = Array.from({ length: 200_000 }, (_, n) => n.toString(16).padStart(64, '0')).join('')
    const start = performance.now()
    set.addPacked(Buffer.from(list, 'hex'), 200_000)
    expect(set.size).toBe(200_000)
    // Some 100 ms; with all of them in one run of slots it takes minutes.
    expect(performance.now() - start).toBeLessThan(10_000)
  })
})
