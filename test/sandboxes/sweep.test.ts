import { afterAll, describe, expect, test } from 'vitest'
import { runScopeSweep, type ScopeSweepRequest } from '../../src/sweep/run.ts'
import { startEngines } from '../support/engines.ts'
import { anyone, DAY_MS, latestOf, MINUTE_MS, RETENTION_MS, type SandboxWorld, sandboxWorld } from './support/world.ts'

const engines = await startEngines()
afterAll(engines.stop)

const requestOf = ({ scope, now }: SandboxWorld, dryRun = false): ScopeSweepRequest => {
  return { scope, id: `sweep-${now()}`, olderThanMs: 0, dryRun, waitMs: 0 }
}
const configOf = ({ now }: SandboxWorld) => ({ ...engines, now, sandboxRetentionSec: RETENTION_MS / 1000 })

function sweep(world: SandboxWorld, dryRun = false) {
  return runScopeSweep(configOf(world), requestOf(world, dryRun), () => false)
}

/** A sweep whose time is up at each look at the clock. */
async function sweepInRuns(world: SandboxWorld, dryRun = false) {
  const runs: Awaited<ReturnType<typeof runScopeSweep>>[] = []
  let request: ScopeSweepRequest | undefined = requestOf(world, dryRun)
  while (request) {
    if (runs.length > 30) throw new Error('It goes on for ever.')
    const run = await runScopeSweep(configOf(world), request, () => true)
    runs.push(run)
    // As it comes to the next call of a function.
    request = run.rest && JSON.parse(JSON.stringify(run.rest))
  }
  return runs
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

describe('a sweep that has little time', () => {
  test('goes on after the sandboxes that it has looked at, and comes to the blobs', async () => {
    const world = sandboxWorld(engines)
    const ids: string[] = []
    for (const _ of Array(4)) ids.push((await world.create({ ttlSeconds: 60 })).sandboxId)
    world.advance(MINUTE_MS)
    await world.put('unused')
    const runs = await sweepInRuns(world)
    expect(runs.flatMap(({ rest }) => (rest?.resume && 'sandboxesAfter' in rest.resume ? [rest.resume] : []))).toEqual(
      ids.map((id) => expect.objectContaining({ sandboxesAfter: id })),
    )
    // Only the runs after those look at blobs.
    expect(runs.slice(0, 4).map(({ report }) => [report.state, report.listed])).toEqual(Array(4).fill(['running', 0]))
    expect(runs.at(-1)?.report).toMatchObject({ state: 'done', listed: 1, deleted: 1 })
    world.advance(-1)
    for (const id of ids) expect(await world.store.get(id)).toMatchObject({ status: 'expired' })
  })

  test('takes the snapshots of a sandbox away one by one, past those that stay', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    for (const n of Array(5).keys()) await world.save(sandboxId, `${n}`)
    const pinning = await world.create({ source: { type: 'snapshot', sandboxId, snapshotSeq: 2 } })
    await world.store.destroy(sandboxId, anyone)
    world.advance(RETENTION_MS)
    const runs = await sweepInRuns(world)
    // The first sandbox there is, and one that is not through yet.
    expect(runs.slice(0, 4).map(({ rest }) => rest?.resume)).toMatchObject([
      { sandboxesAfter: '', report: { cleared: 1 } },
      { sandboxesAfter: '', report: { cleared: 2 } },
      { sandboxesAfter: '', report: { cleared: 3 } },
      { sandboxesAfter: sandboxId, report: { cleared: 3 } },
    ])
    const kept = await Promise.all([1, 2, 3, 4, 5].map((seq) => world.store.getSnapshot(sandboxId, seq)))
    expect(kept.map((snapshot) => snapshot?.snapshotSeq)).toEqual([undefined, 2, undefined, undefined, 5])
    expect(await world.store.get(pinning.sandboxId)).toMatchObject({ restore: { sandboxId, snapshotSeq: 2 } })
  })

  test('and only counts, does not come by the sandboxes', async () => {
    const world = sandboxWorld(engines)
    for (const _ of Array(2)) await world.create({ ttlSeconds: 60 })
    world.advance(RETENTION_MS + DAY_MS)
    const before = await world.items()
    const runs = await sweepInRuns(world, true)
    expect(runs.map(({ rest }) => rest)).toEqual([undefined])
    expect(await world.items()).toEqual(before)
  })
})
