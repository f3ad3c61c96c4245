import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type BlobReader, lookUp } from '../../src/blobs/look-up.ts'

const PAGE = 100

/** In order. */
const KEYS = Array.from({ length: 20_000 }, (_, index) => keyOf(index)).sort()
const blobOf = (key: string) => ({ key, size: key.length, uploadedAt: 1 })

/** A bucket with pages of 100, and what was asked of it. */
function bucketOf(stored: string[]) {
  const sorted = stored.toSorted()
  const asked = { pages: 0, stats: 0 }
  const reader: BlobReader = {
    async page(after) {
      asked.pages += 1
      const behind = sorted.filter((key) => key > after)
      return { blobs: behind.slice(0, PAGE).map(blobOf), ended: behind.length <= PAGE }
    },
    async stat(key) {
      asked.stats += 1
      return sorted.includes(key) ? blobOf(key) : null
    },
  }
  return { reader, asked }
}

describe('looking up many blobs', () => {
  for (const [name, stored, wanted, pages, stats] of [
    ['in an empty scope takes one page', [], range(0, 1_000), 1, 0],
    ['that are all there takes a page for each hundred', range(0, 1_000), range(0, 1_000), 10, 0],
    ['of which every other is there', range(0, 1_000).filter((_, index) => index % 2 === 0), range(0, 1_000), 5, 0],
    ['far apart takes one page, then one request each', range(0, 20_000), every(200), 1, 99],
    ['few of them takes no page', range(0, 1_000), range(0, 10), 0, 10],
    ['beyond the last one stored', range(0, 250), range(200, 300), 1, 0],
  ] as const) {
    test(name, async () => {
      const { reader, asked } = bucketOf([...stored])
      const found = await lookUp(reader, wanted.toReversed())
      const there = new Set<string>(stored)
      expect([...found.keys()].toSorted()).toEqual(wanted.filter((key) => there.has(key)))
      expect([...found]).toEqual([...found.keys()].map((key) => [key, blobOf(key)]))
      expect(asked).toEqual({ pages, stats })
    })
  }

  test('that are named twice finds them once', async () => {
    const { reader, asked } = bucketOf(range(0, 5))
    expect((await lookUp(reader, [...range(1, 2), ...range(1, 2)])).size).toBe(1)
    expect(asked.stats).toBe(1)
  })
})

function range(start: number, end: number): string[] {
  return KEYS.slice(start, end)
}

function every(step: number): string[] {
  return KEYS.filter((_, index) => index % step === 0)
}

function keyOf(index: number): string {
  return `sandbox-files/sha256/${createHash('sha256').update(String(index)).digest('hex')}`
}
