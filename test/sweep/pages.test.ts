import { afterAll, expect, it } from 'vitest'
import { Pages } from '../../src/sweep/pages.ts'
import { startEngines } from '../support/engines.ts'
import { putObjects, sampleKeys, scopeUnderSweep } from './support/scope-under-sweep.ts'

const engines = await startEngines()
afterAll(engines.stop)

for (const count of [999, 1_000, 1_001, 2_001]) {
  it(`lists and deletes ${count} objects, 1,000 a request`, async () => {
    const scope = scopeUnderSweep(engines)
    await putObjects(engines, scope, sampleKeys(count))
    const { counts, deletedBlobs, lists, deletes } = await scope.sweep()
    expect(counts).toMatchObject({ listed: count, condemned: count, deleted: count, bytesFreed: count })
    expect(deletedBlobs).toEqual(sampleKeys(count).toSorted())
    expect(deletes).toBe(Math.ceil(count / 1_000))
    // One for each of bodies, staging and bundles.
    expect(lists).toBe(Math.ceil(count / 1_000) + 3)
    expect(await scope.versions('blobs')).toEqual([])
  })
}

it('reads 2,001 references and the blobs they are of', async () => {
  const scope = scopeUnderSweep(engines)
  const keys = sampleKeys(2_001)
  await putObjects(engines, scope, keys)
  await scope.commit('thread', keys)
  expect(await scope.sweep()).toMatchObject({ counts: { listed: 2_002, referenced: 2_001, condemned: 0 } })
  expect(await scope.stored()).toHaveLength(2_001)
})

it('keeps the versions of one key together, on pages of the list and its own', async () => {
  const scope = scopeUnderSweep(engines)
  const keys = sampleKeys(4_005).toSorted()
  await putObjects(engines, scope, keys)
  // Of these the versions stand on both sides of the 1,000th and of the 4,000th.
  const doubled = [998, 999, 3_995, 3_996, 3_997].flatMap((index) => keys[index] ?? [])
  for (const key of doubled) for (const again of [key, key]) await putObjects(engines, scope, [again])
  const writer = await scope.checkpoints.acquireWriter('thread')
  expect(await scope.sweep()).toMatchObject({ waiting: true, counts: { listed: 4_015, condemned: 4_015 } })
  const pageOf = new Map<string, string>()
  for await (const { sortKey, entries } of new Pages(scope.table, scope.scope, 'blobs').read()) {
    for (const { key } of entries) {
      expect(pageOf.get(key) ?? sortKey).toBe(sortKey)
      pageOf.set(key, sortKey)
    }
  }
  expect(pageOf.size).toBe(4_005)
  expect(new Set(pageOf.values()).size).toBe(2)
  await expect(scope.blobs.head(keys[0] ?? '')).resolves.toBeNull()
  await expect(scope.blobs.head(keys[4_004] ?? '')).resolves.toBeNull()

  await writer.release()
  expect(await scope.sweep()).toMatchObject({ deletedBlobs: keys, counts: { deleted: 4_015 } })
  expect(await scope.versions('blobs')).toEqual([])
  expect(await scope.state()).toEqual([])
})
