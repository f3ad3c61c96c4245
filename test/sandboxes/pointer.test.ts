import { afterAll, describe, expect, test } from 'vitest'
import type { SnapshotName } from '../../src/sandboxes/types.ts'
import { seededRandom } from '../store/support/stores.ts'
import { startEngines } from '../support/engines.ts'
import { anyone, latestOf, type SandboxWorld, sandboxWorld } from './support/world.ts'

const engines = await startEngines()
afterAll(engines.stop)

const range = (count: number) => Array.from({ length: count }, (_, index) => index)

/** Each step is a sandbox, by the order of their creation from 0, and what it does; `latest`: as `sandbox#snapshot`. */
type Step = `${'create' | 'save' | 'destroy'} ${number}`
const rules: [rule: string, steps: Step[], latest: string | null][] = [
  ['a task without a snapshot has none', ['create 0', 'create 1'], null],
  ['the only sandbox that saved', ['create 0', 'save 0'], '0#1'],
  ['its most recent snapshot', ['create 0', 'save 0', 'save 0'], '0#2'],
  ['an older one may save while the newer has not', ['create 0', 'create 1', 'save 0', 'save 0'], '0#2'],
  ['the newer takes it over', ['create 0', 'save 0', 'create 1', 'save 1'], '1#1'],
  ['the newer takes it over, whatever the older saved between', ['create 0', 'create 1', 'save 0', 'save 1'], '1#1'],
  ['the older cannot take it back', ['create 0', 'create 1', 'save 1', 'save 0'], '1#1'],
  ['the older cannot take it back, how often it saves', ['create 0', 'create 1', 'save 1', 'save 0', 'save 0'], '1#1'],
  ['the newer goes on', ['create 0', 'create 1', 'save 1', 'save 0', 'save 1'], '1#2'],
  ['a destroyed sandbox saves last', ['create 0', 'destroy 0', 'save 0'], '0#1'],
  ['a destroyed older one cannot take it back', ['create 0', 'create 1', 'save 1', 'destroy 0', 'save 0'], '1#1'],
  ['destroying the newer gives nothing back', ['create 0', 'create 1', 'save 1', 'destroy 1', 'save 0'], '1#1'],
  ['a newer one without a snapshot leaves it', ['create 0', 'create 1', 'destroy 1', 'save 0'], '0#1'],
  ['a newer one that saves after its end takes it', ['create 0', 'create 1', 'save 0', 'destroy 1', 'save 1'], '1#1'],
  ['of three, the middle one over the oldest', ['create 0', 'create 1', 'create 2', 'save 1', 'save 0'], '1#1'],
  ['of three, the newest over both', ['create 0', 'create 1', 'create 2', 'save 2', 'save 1', 'save 0'], '2#1'],
  ['of three, one after the other', ['create 0', 'create 1', 'create 2', 'save 0', 'save 1', 'save 2'], '2#1'],
  ['a chain of three', ['create 0', 'save 0', 'create 1', 'save 1', 'create 2', 'save 2', 'save 0', 'save 1'], '2#1'],
]

test.for(rules)('the latest workspace: %s', async ([, steps, expected]) => {
  const world = sandboxWorld(engines)
  const ids: string[] = []
  for (const step of steps) {
    const [action, index] = step.split(' ')
    const id = ids[Number(index)] ?? ''
    if (action === 'create') ids.push((await world.create({ taskId: 't' })).sandboxId)
    else if (action === 'destroy') await world.store.destroy(id, anyone)
    else {
      const reason = (await world.store.get(id))?.status === 'destroyed' ? 'destroy' : 'autosave'
      const saved = await world.store.saveSnapshot(id, { reason, files: [await world.put(step)] })
      // Saved all the same, whether it is the latest or not.
      expect(await world.store.getSnapshot(id, saved.snapshotSeq)).toMatchObject({ latest: saved.latest })
    }
  }
  const latest = await latestOf(world, 't')
  const [id, seq] = latest?.split('#') ?? []
  expect(latest && `${ids.indexOf(id ?? '')}#${seq}`).toBe(expected)
})

describe('a save that is to take the place of one snapshot', () => {
  const saveIf = async (world: SandboxWorld, id: string, ifLatest: SnapshotName | null) =>
    world.store.saveSnapshot(id, { reason: 'push', files: [await world.put('late')], ifLatest })

  test.for<[string, (first: string) => SnapshotName | null, boolean]>([
    ['the latest', (sandboxId) => ({ sandboxId, snapshotSeq: 2 }), true],
    ['one before it', (sandboxId) => ({ sandboxId, snapshotSeq: 1 }), false],
    ['one of another sandbox', () => ({ sandboxId: 'x', snapshotSeq: 2 }), false],
    ['none, where there is one', () => null, false],
  ])('%s', async ([, ifLatest, takes]) => {
    const world = sandboxWorld(engines)
    const first = await world.create({ taskId: 't' })
    for (const text of ['one', 'two']) await world.save(first.sandboxId, text)
    const { sandboxId } = await world.create({ taskId: 't' })
    const saved = await saveIf(world, sandboxId, ifLatest(first.sandboxId))
    expect(saved).toMatchObject({ sandboxId, snapshotSeq: 1, latest: takes })
    expect(await world.store.getSnapshot(sandboxId, 1)).toMatchObject({ latest: takes })
    expect(await latestOf(world, 't')).toBe(takes ? `${sandboxId}#1` : `${first.sandboxId}#2`)
    // One that did not take the place keeps nobody else from it.
    expect((await world.save(first.sandboxId, 'three')).latest).toBe(!takes)
  })

  test('is the first of a task that has none, and stays behind a newer sandbox all the same', async () => {
    const world = sandboxWorld(engines)
    const [older, newer] = [await world.create({ taskId: 't' }), await world.create({ taskId: 't' })]
    expect(await saveIf(world, newer.sandboxId, null)).toMatchObject({ latest: true })
    const named = { sandboxId: newer.sandboxId, snapshotSeq: 1 }
    expect(await saveIf(world, older.sandboxId, named)).toMatchObject({ latest: false })
    const alone = await world.create()
    expect(await saveIf(world, alone.sandboxId, null)).toMatchObject({ latest: false })
  })

  test('of many at once just one takes it', async () => {
    const world = sandboxWorld(engines)
    const first = await world.create({ taskId: 't' })
    const { snapshotSeq } = await world.save(first.sandboxId, 'one')
    const ids: string[] = []
    for (const _ of range(6)) ids.push((await world.create({ taskId: 't' })).sandboxId)
    const saved = await Promise.all(ids.map((id) => saveIf(world, id, { sandboxId: first.sandboxId, snapshotSeq })))
    const [taken, ...others] = saved.filter(({ latest }) => latest)
    expect(others).toEqual([])
    expect(await latestOf(world, 't')).toBe(`${taken?.sandboxId}#1`)
  })
})

describe('at once', () => {
  test.for([1, 2, 3])('many sandboxes of a task save: the newest wins, round %i', async (round) => {
    const world = sandboxWorld(engines)
    const ids: string[] = []
    for (const _ of range(8)) ids.push((await world.create({ taskId: 't' })).sandboxId)
    const order = ids.map((_, index) => ids[(index * 3 + round) % ids.length] ?? '')
    const saved = await Promise.all(order.map((id) => world.save(id, 'same')))
    expect(saved.map(({ snapshotSeq }) => snapshotSeq)).toEqual(range(8).map(() => 1))
    expect(await latestOf(world, 't')).toBe(`${ids.at(-1)}#1`)
  })

  test('one sandbox saves many times: each has a number of its own, and the last is the latest', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    const saved = await Promise.all(range(6).map((n) => world.save(sandboxId, `${n}`)))
    expect(saved.map(({ snapshotSeq }) => snapshotSeq).sort()).toEqual(range(6).map((n) => n + 1))
    expect(await latestOf(world, 't')).toBe(`${sandboxId}#6`)
    const { snapshots } = await world.store.listSnapshots(sandboxId, { limit: 10 })
    expect(snapshots.map(({ latest }) => latest)).toEqual([false, false, false, false, false, true])
  })

  test('sandboxes are created and saved: none begins from an older one than it was told of', async () => {
    const world = sandboxWorld(engines)
    const first = await world.create({ taskId: 't' })
    await world.save(first.sandboxId, 'first')
    const created = await Promise.all(
      range(6).map(async (n) => {
        const sandbox = await world.create({ taskId: 't', restoreLatest: true })
        await world.save(sandbox.sandboxId, `${n}`)
        return sandbox
      }),
    )
    for (const { restore } of created) expect(restore).not.toBeNull()
    const { sandboxes } = await world.store.list({ taskId: 't', limit: 10 })
    expect(await latestOf(world, 't')).toBe(`${sandboxes[0]?.sandboxId}#1`)
  })
})

/** What the rule says, without any storage. */
class Model {
  readonly sandboxes: { id: string; key: string; saves: number; ended: boolean }[] = []
  readonly latest = new Map<string, { index: number; seq: number }>()

  save(index: number): { snapshotSeq: number; latest: boolean } {
    const sandbox = this.sandboxes[index]
    if (!sandbox) throw new Error('There is no such sandbox.')
    sandbox.saves += 1
    const before = this.latest.get(sandbox.key)
    const latest = before === undefined || before.index <= index
    if (latest) this.latest.set(sandbox.key, { index, seq: sandbox.saves })
    return { snapshotSeq: sandbox.saves, latest }
  }

  name(key: string): string | null {
    const latest = this.latest.get(key)
    return latest ? `${this.sandboxes[latest.index]?.id}#${latest.seq}` : null
  }
}

test.for([1, 2, 3, 4, 5, 6])('any sequence of creates, saves and destroys follows the rule, seed %i', async (seed) => {
  const world = sandboxWorld(engines)
  const random = seededRandom(seed)
  const pick = (count: number) => Math.floor(random() * count)
  const model = new Model()
  for (let step = 0; step < 40; step++) {
    const key = `task-${pick(2)}`
    const index = pick(model.sandboxes.length)
    const sandbox = model.sandboxes[index]
    const action = pick(10)
    if (action < 3 || !sandbox) await createOne(world, model, key)
    else if (action < 8) {
      const input = { reason: sandbox.ended ? 'destroy' : 'stop', files: [await world.put(`${step}`)] } as const
      expect(await world.store.saveSnapshot(sandbox.id, input)).toMatchObject(model.save(index))
    } else if (action === 8) {
      await world.store.destroy(sandbox.id, anyone)
      sandbox.ended = true
    } else {
      world.advance(pick(3))
    }
    for (const { id, saves } of model.sandboxes) {
      expect((await world.store.get(id))?.latestSnapshotSeq).toBe(saves === 0 ? null : saves)
    }
  }
  for (const key of ['task-0', 'task-1']) expect(await latestOf(world, key)).toBe(model.name(key))
})

async function createOne(world: SandboxWorld, model: Model, key: string): Promise<void> {
  const { sandboxId, source } = await world.create({ taskId: key, source: { type: 'workspace_latest' } })
  const name = source?.sandboxId === undefined ? null : `${source.sandboxId}#${source.snapshotSeq}`
  expect(name).toBe(model.name(key))
  model.sandboxes.push({ id: sandboxId, key, saves: 0, ended: false })
}
