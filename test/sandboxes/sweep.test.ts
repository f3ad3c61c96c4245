import { afterAll, describe, expect, test } from 'vitest'
import { runScopeSweep } from '../../src/sweep/run.ts'
import { startEngines } from '../support/engines.ts'
import { anyone, DAY_MS, latestOf, MINUTE_MS, RETENTION_MS, type SandboxWorld, sandboxWorld } from './support/world.ts'

const engines = await startEngines()
afterAll(engines.stop)

function sweep({ scope, now }: SandboxWorld, dryRun = false) {
  const request = { scope, id: `sweep-${now()}`, olderThanMs: 0, dryRun, waitMs: 0 }
  const config = { ...engines, now, sandboxRetentionSec: RETENTION_MS / 1000 }
  return runScopeSweep(config, request, () => false)
}

describe('a destroyed sandbox', () => {
  test('reads as destroyed for the retention time, and then as unknown, swept or not', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create()
    await world.save(sandboxId, 'a')
    await world.store.destroy(sandboxId, anyone)
    world.advance(RETENTION_MS - 1)
    await sweep(world)
    expect(await world.store.get(sandboxId)).toMatchObject({ status: 'destroyed' })
    expect(await world.store.getSnapshot(sandboxId, 1)).not.toBeNull()
    world.advance(1)
    for (const swept of [false, true]) {
      if (swept) await sweep(world)
      expect(await world.store.get(sandboxId)).toBeNull()
      expect(await world.store.getSnapshot(sandboxId, 1)).toBeNull()
      expect((await world.store.list({ limit: 10 })).sandboxes).toEqual([])
      await expect(world.store.destroy(sandboxId, anyone)).rejects.toMatchObject({ code: 'not_found' })
      await expect(world.store.listSnapshots(sandboxId, { limit: 1 })).rejects.toMatchObject({ code: 'not_found' })
    }
  })

  test('leaves the snapshot that its task begins from next, until another is, and no other', async () => {
    const world = sandboxWorld(engines)
    const old = await world.create({ taskId: 't' })
    await world.save(old.sandboxId, 'one')
    await world.save(old.sandboxId, 'two')
    await world.store.destroy(old.sandboxId, anyone)
    world.advance(RETENTION_MS)
    const { report } = await sweep(world)
    expect(report.cleared).toBe(1)
    expect(await world.store.getSnapshot(old.sandboxId, 1)).toBeNull()
    expect(await world.store.getSnapshot(old.sandboxId, 2)).toMatchObject({ files: [await world.put('two')] })

    const next = await world.create({ taskId: 't', restoreLatest: true })
    expect(next.restore).toEqual({ sandboxId: old.sandboxId, snapshotSeq: 2 })
    await world.save(next.sandboxId, 'three')
    await sweep(world)
    // The sandbox that was created from it may be started again.
    expect(await world.store.getSnapshot(old.sandboxId, 2)).not.toBeNull()
    await world.store.destroy(next.sandboxId, anyone)
    world.advance(RETENTION_MS)
    await sweep(world)
    await sweep(world)
    expect(await world.store.getSnapshot(old.sandboxId, 2)).toBeNull()
    expect(await world.store.getSnapshot(next.sandboxId, 1)).toMatchObject({ latest: true })
  })

  test('that nothing needs leaves no item, no body and no blob', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create()
    const conversation = [Array.from({ length: 20_000 }, (_, n) => `${n ** 3}`).join()]
    await world.store.saveSnapshot(sandboxId, { reason: 'stop', files: [await world.put('x')], conversation })
    await world.store.destroy(sandboxId, anyone)
    world.advance(RETENTION_MS)
    await sweep(world)
    await sweep(world)
    expect(await world.items()).toEqual([])
    expect(await world.objects()).toEqual([])
  })
})

describe('an expiry', () => {
  test('is made final by the sweep, and the sandbox goes when it was kept for the retention time', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ ttlSeconds: 60 })
    world.advance(MINUTE_MS)
    await sweep(world)
    expect(await world.store.get(sandboxId)).toMatchObject({ status: 'expired' })
    // A clock that is behind does not bring it back.
    world.advance(-1)
    expect(await world.store.get(sandboxId)).toMatchObject({ status: 'expired' })
    world.advance(RETENTION_MS)
    expect(await world.store.get(sandboxId)).not.toBeNull()
    world.advance(1)
    expect(await world.store.get(sandboxId)).toBeNull()
    await sweep(world)
    expect(await world.items()).toEqual([])
  })
})

test('a sweep that only counts changes nothing', async () => {
  const world = sandboxWorld(engines)
  const { sandboxId } = await world.create({ ttlSeconds: 60 })
  await world.save(sandboxId, 'x')
  world.advance(RETENTION_MS + DAY_MS)
  const before = await world.items()
  await sweep(world, true)
  expect(await world.items()).toEqual(before)
})

test('a snapshot that is pinned stays, though its task and its sandbox went on', async () => {
  const world = sandboxWorld(engines)
  const old = await world.create({ taskId: 't' })
  await world.save(old.sandboxId, 'one')
  await world.save(old.sandboxId, 'two')
  const source = { type: 'snapshot', sandboxId: old.sandboxId, snapshotSeq: 1 } as const
  const { sandboxId } = await world.create({ source })
  await world.store.destroy(old.sandboxId, anyone)
  world.advance(RETENTION_MS * 3)
  await sweep(world)
  expect((await world.store.get(sandboxId))?.restore).toEqual({ sandboxId: old.sandboxId, snapshotSeq: 1 })
  expect(await world.store.getSnapshot(old.sandboxId, 1)).toMatchObject({ files: [await world.put('one')] })
  // What is kept may be begun from once more.
  expect((await world.create({ source })).source).toMatchObject({ workspaceKey: 't', snapshotSeq: 1 })
  expect(await latestOf(world, 't')).toBe(`${old.sandboxId}#2`)
})
