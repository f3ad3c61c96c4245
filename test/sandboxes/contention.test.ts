import { afterAll, expect, test } from 'vitest'
import { contendedClient } from '../memory/support/contention.ts'
import { startEngines } from '../support/engines.ts'
import { latestOf, sandboxWorld } from './support/world.ts'

const engines = await startEngines()
afterAll(engines.stop)

const range = (count: number) => Array.from({ length: count }, (_, index) => index)

/** A scope whose table refuses transactions that meet. */
function contended() {
  const { dynamodb, conflicts } = contendedClient(engines)
  const world = sandboxWorld(engines)
  return { world, store: world.storeWith({ dynamodb, s3: engines.s3 }), conflicts }
}

test('30 sandboxes of a task save at once: each gets through, and the newest is the latest', async () => {
  const { world, store, conflicts } = contended()
  const ids: string[] = []
  for (const _ of range(30)) ids.push((await world.create({ taskId: 't' })).sandboxId)
  const files = [await world.put('x')]
  const saved = await Promise.all(ids.map((id) => store.saveSnapshot(id, { reason: 'stop', files })))
  expect(saved.every(({ snapshotSeq }) => snapshotSeq === 1)).toBe(true)
  expect(await latestOf(world, 't')).toBe(`${ids.at(-1)}#1`)
  expect(conflicts()).toBeGreaterThan(0)
})

test('30 sandboxes begin from one snapshot at once, and each pins it', async () => {
  const { world, store, conflicts } = contended()
  const { sandboxId } = await world.create({ taskId: 't' })
  await world.save(sandboxId, 'x')
  const input = { profile: 'p', taskId: 't', restoreLatest: true, by: 'key:k' }
  const created = await Promise.all(range(30).map(() => store.create(input)))
  for (const { sandbox } of created) expect(sandbox.restore).toEqual({ sandboxId, snapshotSeq: 1 })
  expect((await store.list({ taskId: 't', limit: 100 })).sandboxes).toHaveLength(31)
  expect(conflicts()).toBeGreaterThan(0)
})

test('20 creates with reuse at once get one sandbox', async () => {
  const { store, conflicts } = contended()
  const input = { profile: 'p', taskId: 't', reuse: true, by: 'key:k' }
  const created = await Promise.all(range(20).map(() => store.create(input)))
  expect(new Set(created.map(({ sandbox }) => sandbox.sandboxId)).size).toBe(1)
  expect(conflicts()).toBeGreaterThan(0)
})

test('one sandbox is saved 10 times at once, and stopped, renewed and started meanwhile', async () => {
  const { world, store } = contended()
  const { sandboxId } = await world.create({ taskId: 't', ttlSeconds: 60 })
  const files = [await world.put('x')]
  const saves = range(10).map(() => store.saveSnapshot(sandboxId, { reason: 'autosave', files }))
  await Promise.all([...saves, store.stop(sandboxId), store.renew(sandboxId, 600), store.start(sandboxId)])
  const { snapshots } = await store.listSnapshots(sandboxId, { limit: 100 })
  expect(snapshots.map(({ snapshotSeq }) => snapshotSeq)).toEqual(range(10).map((n) => n + 1))
  expect(await store.get(sandboxId)).toMatchObject({ latestSnapshotSeq: 10, expiresAt: world.now() + 600_000 })
})
