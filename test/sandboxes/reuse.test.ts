import { afterAll, describe, expect, test } from 'vitest'
import type { CreateSandboxInput } from '../../src/sandboxes/types.ts'
import { tally } from '../store/support/stores.ts'
import { startEngines } from '../support/engines.ts'
import { anyone, sandboxWorld } from './support/world.ts'

const engines = await startEngines()
afterAll(engines.stop)

const range = (count: number) => Array.from({ length: count }, (_, index) => index)
const like = { profile: 'p', taskId: 't', labels: { a: '1', b: '2' }, provider: 'docker' } as const

function reuse(world: ReturnType<typeof sandboxWorld>, input: Partial<CreateSandboxInput> = {}) {
  return world.store.create({ ...like, by: 'key:k', reuse: true, ...input })
}

describe('reuse', () => {
  test('makes a sandbox when there is none, and gives it from then on', async () => {
    const world = sandboxWorld(engines)
    const first = await reuse(world)
    expect(first.reused).toBe(false)
    world.advance(5)
    expect(await reuse(world)).toEqual({ sandbox: first.sandbox, reused: true })
  })

  test('gives one that was made without it, as it is: stopped, with its own times, source and creator', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ ...like, by: 'user:u', ttlSeconds: 100, providerSandboxId: 'x' })
    const stopped = await world.store.stop(sandboxId)
    const given = await reuse(world, { restoreLatest: true, ttlSeconds: 5, providerSandboxId: 'y' })
    expect(given).toEqual({ sandbox: stopped, reused: true })
    expect(stopped).toMatchObject({ createdBy: 'user:u', status: 'stopped', source: null, providerSandboxId: 'x' })
  })

  test('looks at labels in any order', async () => {
    const world = sandboxWorld(engines)
    await world.create({ ...like, labels: { b: '2', a: '1' } })
    expect((await reuse(world)).reused).toBe(true)
  })

  test.for<[string, Partial<CreateSandboxInput>]>([
    ['profile', { profile: 'q' }],
    ['workspace key', { taskId: 'u' }],
    ['labels, by value', { labels: { a: '1', b: '3' } }],
    ['labels, by name', { labels: { a: '1', c: '2' } }],
    ['labels, by number', { labels: { a: '1' } }],
    ['labels, by where one ends', { labels: { a: '1,b:2' } }],
    ['provider', { provider: 'e2b' }],
    ['provider, by there being one', { provider: undefined }],
  ])('does not give one of another %s', async ([, other]) => {
    const world = sandboxWorld(engines)
    await world.create({ ...like, ...other })
    expect((await reuse(world)).reused).toBe(false)
    expect((await reuse(world, other)).reused).toBe(true)
  })

  test('gives the newest of several, and the next when that one is destroyed', async () => {
    const world = sandboxWorld(engines)
    const ids: string[] = []
    for (const _ of range(12)) ids.push((await world.create(like)).sandboxId)
    while (ids.length > 0) {
      const newest = ids.pop() ?? ''
      expect(await reuse(world)).toMatchObject({ sandbox: { sandboxId: newest }, reused: true })
      await world.store.destroy(newest, anyone)
    }
    expect((await reuse(world)).reused).toBe(false)
  })

  test('gives none that is expired, however many there are', async () => {
    const world = sandboxWorld(engines)
    for (const _ of range(12)) await world.create({ ...like, ttlSeconds: 1 })
    world.advance(999)
    expect((await reuse(world)).reused).toBe(true)
    world.advance(1)
    expect((await reuse(world)).reused).toBe(false)
  })

  test('goes by a renewed expiry', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ ...like, ttlSeconds: 1 })
    await world.store.renew(sandboxId, 10)
    world.advance(9_999)
    expect((await reuse(world)).sandbox.sandboxId).toBe(sandboxId)
    await world.store.renew(sandboxId)
    world.advance(1_000_000_000)
    expect((await reuse(world)).sandbox.sandboxId).toBe(sandboxId)
    await world.store.renew(sandboxId, 1)
    world.advance(1_000)
    expect((await reuse(world)).reused).toBe(false)
  })

  test('without it each create makes a sandbox', async () => {
    const { create } = sandboxWorld(engines)
    expect((await create(like)).sandboxId).not.toBe((await create(like)).sandboxId)
  })
})

describe('at once', () => {
  test.for([2, 10])('%i creates with reuse get one sandbox', async (count) => {
    const world = sandboxWorld(engines)
    for (const round of range(3)) {
      const created = await Promise.all(range(count).map(() => reuse(world, { profile: `p-${round}` })))
      expect(new Set(created.map(({ sandbox }) => sandbox.sandboxId)).size).toBe(1)
      expect(tally(created.map(({ reused }) => String(reused)))).toEqual({ false: 1, true: count - 1 })
    }
    expect((await world.store.list({ limit: 10 })).sandboxes).toHaveLength(3)
  })

  test('creates of other fingerprints do not disturb each other', async () => {
    const world = sandboxWorld(engines)
    const created = await Promise.all(range(12).map((n) => reuse(world, { labels: { n: String(n % 3) } })))
    expect(new Set(created.map(({ sandbox }) => sandbox.sandboxId)).size).toBe(3)
  })

  test('a create with reuse and a destroy: what is given was there when the create began', async () => {
    const world = sandboxWorld(engines)
    for (const _ of range(5)) {
      const { sandbox } = await reuse(world)
      const [again] = await Promise.all([reuse(world), world.store.destroy(sandbox.sandboxId, anyone)])
      if (again.reused) expect(again.sandbox).toEqual(sandbox)
      else expect(again.sandbox.sandboxId).not.toBe(sandbox.sandboxId)
      await world.store.destroy(again.sandbox.sandboxId, anyone)
    }
  })
})
