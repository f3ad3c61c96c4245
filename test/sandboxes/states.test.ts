import { afterAll, describe, expect, test } from 'vitest'
import type { SandboxStatus, SnapshotReason } from '../../src/sandboxes/types.ts'
import { outcome } from '../store/support/stores.ts'
import { startEngines } from '../support/engines.ts'
import { anyone, MINUTE_MS, type SandboxWorld, sandboxWorld } from './support/world.ts'

const engines = await startEngines()
afterAll(engines.stop)

/** A sandbox in a state. */
async function inState(world: SandboxWorld, status: SandboxStatus): Promise<string> {
  const { sandboxId } = await world.create({ ttlSeconds: 60 })
  if (status === 'stopped') await world.store.stop(sandboxId)
  if (status === 'destroyed') await world.store.destroy(sandboxId, anyone)
  if (status === 'expired') world.advance(MINUTE_MS)
  expect((await world.store.get(sandboxId))?.status).toBe(status)
  return sandboxId
}

const actions = {
  stop: ({ store }: SandboxWorld, id: string) => store.stop(id),
  start: ({ store }: SandboxWorld, id: string) => store.start(id),
  renew: ({ store }: SandboxWorld, id: string) => store.renew(id, 60),
  destroy: ({ store }: SandboxWorld, id: string) => store.destroy(id, anyone),
}

test.for<[keyof typeof actions, SandboxStatus, string]>([
  ['stop', 'running', 'stopped'],
  ['stop', 'stopped', 'stopped'],
  ['stop', 'expired', 'sandbox_expired'],
  ['stop', 'destroyed', 'sandbox_destroyed'],
  ['start', 'running', 'running'],
  ['start', 'stopped', 'running'],
  ['start', 'expired', 'sandbox_expired'],
  ['start', 'destroyed', 'sandbox_destroyed'],
  ['renew', 'running', 'running'],
  ['renew', 'stopped', 'stopped'],
  ['renew', 'expired', 'sandbox_expired'],
  ['renew', 'destroyed', 'sandbox_destroyed'],
  ['destroy', 'running', 'destroyed'],
  ['destroy', 'stopped', 'destroyed'],
  ['destroy', 'expired', 'destroyed'],
  ['destroy', 'destroyed', 'destroyed'],
])('%s of one that is %s: %s', async ([action, status, expected]) => {
  const world = sandboxWorld(engines)
  const id = await inState(world, status)
  const before = await world.store.get(id)
  world.advance(7)
  if (expected.startsWith('sandbox_')) {
    await expect(actions[action](world, id)).rejects.toMatchObject({
      status: 409,
      code: expected,
      message: expect.stringContaining(status),
    })
    expect(await world.store.get(id)).toEqual(before)
    return
  }
  const answered = await actions[action](world, id)
  const after = await world.store.get(id)
  if (answered) expect(answered).toEqual(after)
  const changes = expected !== status || action === 'renew'
  expect(after).toMatchObject({ status: expected, updatedAt: changes ? world.now() : before?.updatedAt })
})

test.for(Object.keys(actions) as (keyof typeof actions)[])('%s of an unknown one is not found', async (action) => {
  const world = sandboxWorld(engines)
  for (const id of ['', 'x', '../..', '#', 'é'.repeat(2_000), '00000000-0000-0000-0000-000000000000']) {
    expect(await outcome(actions[action](world, id)), id).toBe('not_found')
  }
})

describe('expiry', () => {
  test('is noticed at its instant by every read', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId, expiresAt, createdAt } = await world.create({ taskId: 't', ttlSeconds: 60 })
    expect(expiresAt).toBe(createdAt + MINUTE_MS)
    const statuses = async () => [
      (await world.store.get(sandboxId))?.status,
      (await world.store.list({ limit: 5 })).sandboxes[0]?.status,
      (await world.store.list({ taskId: 't', limit: 5 })).sandboxes[0]?.status,
      (await world.store.list({ status: 'expired', limit: 5 })).sandboxes[0]?.status ?? 'running',
      (await world.store.list({ status: 'running', limit: 5 })).sandboxes[0]?.status ?? 'expired',
    ]
    world.advance(MINUTE_MS - 1)
    expect(new Set(await statuses())).toEqual(new Set(['running']))
    world.advance(1)
    expect(new Set(await statuses())).toEqual(new Set(['expired']))
  })

  test('counts from the renewal, and there is none after one without a time', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ ttlSeconds: 60 })
    world.advance(59_999)
    expect((await world.store.renew(sandboxId, 60)).expiresAt).toBe(world.now() + MINUTE_MS)
    world.advance(59_999)
    expect((await world.store.renew(sandboxId)).expiresAt).toBeNull()
    world.advance(1_000 * MINUTE_MS)
    expect(await world.store.get(sandboxId)).toMatchObject({ status: 'running', expiresAt: null })
    // One that did not expire may be told to.
    expect((await world.store.renew(sandboxId, 1)).expiresAt).toBe(world.now() + 1_000)
  })
})

describe('a save', () => {
  const save = async (world: SandboxWorld, id: string, reason: SnapshotReason) =>
    outcome(world.store.saveSnapshot(id, { reason, files: [await world.put('x')] }))
  const reasons: SnapshotReason[] = ['stop', 'autosave', 'expiry', 'destroy', 'push']

  test.for<SandboxStatus>(['running', 'stopped'])('of one that is %s may have any reason', async (status) => {
    const world = sandboxWorld(engines)
    const id = await inState(world, status)
    for (const reason of reasons) expect(await save(world, id, reason)).toBe('ok')
    expect((await world.store.get(id))?.latestSnapshotSeq).toBe(reasons.length)
  })

  test.for<SandboxStatus>(['expired', 'destroyed'])('of one that is %s is its last, for 10 minutes', async (status) => {
    const world = sandboxWorld(engines)
    const id = await inState(world, status)
    const refused = `sandbox_${status}`
    const expected = [refused, refused, 'ok', 'ok', refused]
    for (const after of [0, 10 * MINUTE_MS - 1]) {
      world.advance(after)
      expect(await Promise.all(reasons.map((reason) => save(world, id, reason)))).toEqual(expected)
    }
    world.advance(1)
    for (const reason of reasons) expect(await save(world, id, reason)).toBe(refused)
    expect(await world.store.get(id)).toMatchObject({ status, latestSnapshotSeq: 4 })
  })

  test('of one that is destroyed after its expiry counts from the destruction', async () => {
    const world = sandboxWorld(engines)
    const id = await inState(world, 'expired')
    world.advance(11 * MINUTE_MS)
    expect(await save(world, id, 'destroy')).toBe('sandbox_expired')
    await world.store.destroy(id, anyone)
    world.advance(10 * MINUTE_MS - 1)
    expect(await save(world, id, 'destroy')).toBe('ok')
  })
})

describe('destroying', () => {
  test('asks who may, with the sandbox, each time', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ by: 'key:mine' })
    const mine = ({ createdBy }: { createdBy: string }) => createdBy === 'key:mine'
    expect(await outcome(world.store.destroy(sandboxId, () => false))).toBe('forbidden')
    expect((await world.store.get(sandboxId))?.status).toBe('running')
    await world.store.destroy(sandboxId, mine)
    const destroyed = await world.store.get(sandboxId)
    world.advance(1)
    await world.store.destroy(sandboxId, mine)
    expect(await world.store.get(sandboxId)).toEqual(destroyed)
    expect(await outcome(world.store.destroy(sandboxId, () => false))).toBe('forbidden')
  })
})
