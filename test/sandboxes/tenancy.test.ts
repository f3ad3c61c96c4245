import { afterAll, expect, test } from 'vitest'
import { outcome } from '../store/support/stores.ts'
import { startEngines } from '../support/engines.ts'
import { anyone, latestOf, type SandboxWorld, sandboxWorld } from './support/world.ts'

const engines = await startEngines()
afterAll(engines.stop)

const UNKNOWN = '00000000-0000-0000-0000-000000000000'

/** The error as a whole, or what was given. */
async function told(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: Error) => ({ ...error, message: error.message }))
}

function everything({ store, put }: SandboxWorld, id: string): (() => Promise<unknown>)[] {
  const source = { type: 'snapshot', sandboxId: id, snapshotSeq: 1 } as const
  return [
    () => store.get(id),
    () => store.stop(id),
    () => store.start(id),
    () => store.renew(id, 5),
    () => store.destroy(id, anyone),
    async () => store.saveSnapshot(id, { reason: 'stop', files: [await put('x')] }),
    () => store.listSnapshots(id, { limit: 5 }),
    () => store.getSnapshot(id, 1),
    () => store.create({ profile: 'p', by: 'key:k', source }),
  ]
}

test.for([
  ['another tenant', { tenant: 'elsewhere' }],
  ['another project', { project: 'elsewhere' }],
  ['another letter case', { project: 'PROJECT' }],
] as const)('sandboxes of %s answer exactly like unknown ones, and nothing of them changes', async ([, other]) => {
  const world = sandboxWorld(engines)
  const { sandboxId } = await world.create({ taskId: 't' })
  await world.save(sandboxId, 'x')
  const before = await world.store.get(sandboxId)
  const stranger = sandboxWorld(engines, { ...world.scope, ...other })
  const asked = everything(stranger, sandboxId)
  for (const [index, unknown] of everything(stranger, UNKNOWN).entries()) {
    expect(await told(asked[index]?.() ?? Promise.resolve())).toEqual(await told(unknown()))
  }
  expect((await stranger.store.list({ limit: 5 })).sandboxes).toEqual([])
  expect((await stranger.store.list({ taskId: 't', limit: 5 })).sandboxes).toEqual([])
  expect(await latestOf(stranger, 't')).toBeNull()
  expect(await world.store.get(sandboxId)).toEqual(before)
})

test('tasks of one name in two projects do not meet, nor do sandboxes that look alike', async () => {
  const one = sandboxWorld(engines)
  const two = sandboxWorld(engines, { ...one.scope, project: 'other' })
  const like = { profile: 'p', taskId: 't', by: 'key:k', reuse: true }
  const first = await one.store.create(like)
  const second = await two.store.create(like)
  expect(second.reused).toBe(false)
  await one.save(first.sandbox.sandboxId, 'x')
  expect(await latestOf(two, 't')).toBeNull()
  await two.save(second.sandbox.sandboxId, 'y')
  expect(await latestOf(one, 't')).toBe(`${first.sandbox.sandboxId}#1`)
  // Blobs of another project are not there.
  const files = [{ kind: 'file', path: 'f', blobKey: (await one.put('only in one')).blobKey, size: 1 } as const]
  expect(await outcome(two.store.saveSnapshot(second.sandbox.sandboxId, { reason: 'stop', files }))).toBe(
    'blob_missing',
  )
})
