import { afterAll, expect, it } from 'vitest'
import { Pages } from '../../src/sweep/pages.ts'
import type { ScopeSweepResult } from '../../src/sweep/scope-sweep.ts'
import { startEngines } from '../support/engines.ts'
import { checkpointOf, type ScopeUnderSweep, sampleKeys, scopeUnderSweep } from './support/scope-under-sweep.ts'

const engines = await startEngines()
afterAll(engines.stop)

/** So few slots that some thousand references take several passes. */
const FEW_SLOTS = 4_096

async function putAll(scope: ScopeUnderSweep, count: number): Promise<string[]> {
  const keys: string[] = []
  for (let index = 0; index < count; index++) keys.push(await scope.put(`content ${index}`))
  return keys
}

it('spares what came to be used, when the references take several passes', async () => {
  const scope = scopeUnderSweep(engines)
  const reused = await putAll(scope, 40)
  const unused = await scope.put('unused')
  const writer = await scope.checkpoints.acquireWriter('thread')
  for (const key of reused) expect(await scope.blobs.head(key)).not.toBeNull()
  expect(await scope.sweep({ maxSlots: FEW_SLOTS })).toMatchObject({ waiting: true, counts: { condemned: 41 } })
  const checkpoint = checkpointOf('thread', 'one', [...reused, ...sampleKeys(20_000)])
  await scope.checkpoints.append({ checkpoint, expectedHeadId: null, writer })
  await writer.release()

  expect(await scope.sweep({ maxSlots: FEW_SLOTS })).toMatchObject({ deletedBlobs: [unused] })
  expect(await scope.stored()).toEqual(reused.toSorted())
})

it('spares what came to be used, on pages that overlap', async () => {
  const scope = scopeUnderSweep(engines)
  const reused = (await putAll(scope, 12)).toSorted()
  await scope.commit('thread', [...reused, ...sampleKeys(20_000)])
  const pages = new Pages(scope.table, scope.scope, 'blobs')
  const versions = (await scope.versions('blobs')).map((version) => ({ ...version, size: 1, current: true }))
  // Each begins with the first key and ends with another.
  for (let end = 2; end <= versions.length; end++) await pages.write(versions.slice(0, end))

  expect(await scope.sweep({ maxSlots: FEW_SLOTS })).toMatchObject({ deletedBlobs: [], counts: { spared: 77 } })
  expect(await scope.stored()).toEqual(reused)
})

it('condemns and deletes the same in several passes as in one', async () => {
  const outcomes: unknown[] = []
  for (const maxSlots of [undefined, FEW_SLOTS]) {
    const scope = scopeUnderSweep(engines)
    const keys = await putAll(scope, 60)
    await scope.commit('a', [...keys.filter((_, index) => index % 3 === 0), ...sampleKeys(9_000)])
    await scope.commit('b', [...keys.filter((_, index) => index % 4 === 0), ...sampleKeys(9_000, 'b')])
    const { counts, deletedBlobs } = await scope.sweep({ ...(maxSlots && { maxSlots }) })
    outcomes.push({ counts, deletedBlobs, stored: await scope.stored() })
  }
  expect(outcomes[1]).toEqual(outcomes[0])
  expect(outcomes[0]).toMatchObject({ counts: { referenced: 30, condemned: 30, deleted: 30 } })
})

it('comes to the same result when its time is up at each key', async () => {
  const whole = scopeUnderSweep(engines)
  await whole.commit('used', [await whole.put('content 3')])
  await putAll(whole, 9)
  const { deletedBlobs } = await whole.sweep()
  expect(deletedBlobs).toHaveLength(8)

  for (const keysARun of [0, 2, 5]) {
    const scope = scopeUnderSweep(engines)
    await scope.commit('used', [await scope.put('content 3')])
    await putAll(scope, 9)
    const results: ScopeSweepResult[] = []
    let resumeAfter: string | undefined
    do {
      let keys = 0
      const result = await scope.sweep({ resumeAfter, timeIsUp: () => keys++ >= keysARun })
      results.push(result)
      resumeAfter = result.resumeAfter
    } while (resumeAfter !== undefined && results.length < 20)
    expect(results.flatMap((result) => result.deletedBlobs)).toEqual(deletedBlobs)
    expect(results.map(({ counts }) => counts.listed).reduce((sum, listed) => sum + listed)).toBe(9)
    expect(await scope.stored()).toHaveLength(1)
  }
})
