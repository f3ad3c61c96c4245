import { randomBytes } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import type { SandboxStore } from '../../src/sandboxes/types.ts'
import { runScopeSweep } from '../../src/sweep/run.ts'
import { startEngines } from '../support/engines.ts'
import { ownClients } from '../sweep/support/scope-under-sweep.ts'
import { INTERRUPTIONS, interrupt, KilledError } from './support/interrupt.ts'
import { anyone, DAY_MS, latestOf, RETENTION_MS, type SandboxWorld, sandboxWorld } from './support/world.ts'

const engines = await startEngines()
afterAll(engines.stop)

/** A body that is kept in the bucket. */
const conversation = [randomBytes(20_000).toString('base64')]

interface Prepared {
  world: SandboxWorld
  id: string
}

/** A task with a sandbox that has saved a snapshot. */
async function prepare(): Promise<Prepared> {
  const world = sandboxWorld(engines)
  const { sandboxId } = await world.create({ taskId: 't', ttlSeconds: 600 })
  await world.save(sandboxId, 'first')
  await world.put('second')
  return { world, id: sandboxId }
}

const operations: { [name: string]: (store: SandboxStore, prepared: Prepared) => Promise<unknown> } = {
  create: (store) => store.create({ profile: 'new', by: 'key:k', taskId: 't', restoreLatest: true, ttlSeconds: 600 }),
  'create of a first sandbox': (store) => store.create({ profile: 'new', by: 'key:k', taskId: 'u' }),
  'create with reuse': (store) =>
    store.create({ profile: 'new', by: 'key:k', taskId: 't', reuse: true, restoreLatest: true }),
  'create from a snapshot': (store, { id }) =>
    store.create({ profile: 'new', by: 'key:k', source: { type: 'snapshot', sandboxId: id, snapshotSeq: 1 } }),
  save: async (store, { world, id }) => {
    const files = [await world.put('second'), { ...(await world.put('first')), path: 'g' }]
    return store.saveSnapshot(id, { reason: 'stop', files, conversation })
  },
  stop: (store, { id }) => store.stop(id),
  renew: (store, { id }) => store.renew(id, 1_200),
  'renew for ever': (store, { id }) => store.renew(id),
  destroy: (store, { id }) => store.destroy(id, anyone),
}

test.for(Object.entries(operations))(
  '%s: any request may fail, or be the last',
  { timeout: 120_000 },
  async ([, run]) => {
    const whole = await prepare()
    const expected = anonymous(whole, await run(whole.world.store, whole))
    const after = await stateOf(whole)
    const before = await stateOf(await prepare())
    for (const how of INTERRUPTIONS) {
      for (let n = 1, done = false; !done; n++) {
        const prepared = await prepare()
        const clients = ownClients(engines)
        const counter = interrupt(clients, n, how)
        const outcome = await run(prepared.world.storeWith(clients), prepared).catch((error: unknown) => error)
        done = counter.requests < n
        const place = `${how} at request ${n}`
        const state = await stateOf(prepared)
        if (outcome instanceof Error) {
          expect(outcome, place).toBeInstanceOf(KilledError)
          expect([before, after], place).toContainEqual(state)
          // It can be done anew, and what was begun is in nobody's way.
          await run(prepared.world.store, prepared)
          await expectSound(prepared, place)
        } else {
          expect(anonymous(prepared, outcome), place).toEqual(expected)
          expect(state, place).toEqual(after)
        }
        for (const client of Object.values(clients)) client.destroy()
      }
    }
  },
)

/** Without what is random or comes from the clock of the machine. */
function anonymous({ id, world }: Prepared, value: unknown): unknown {
  const names = new Map<string, string>([
    [id, 'first'],
    [world.scope.tenant, 'tenant'],
  ])
  const rename = (text: string) => {
    const ids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
    return text.replaceAll(ids, (found) => {
      if (!names.has(found)) names.set(found, `other-${names.size}`)
      return names.get(found) ?? ''
    })
  }
  const fromNow = (_key: string, item: unknown) =>
    typeof item === 'number' && Math.abs(item - world.now()) < DAY_MS ? item - world.now() : item
  const text = JSON.stringify(value, fromNow)
  return text === undefined ? undefined : JSON.parse(rename(text))
}

/** What readers see. */
async function stateOf(prepared: Prepared) {
  const { store } = prepared.world
  const { sandboxes } = await store.list({ limit: 10 })
  const snapshots = await Promise.all(
    sandboxes.map(({ sandboxId }) => store.listSnapshots(sandboxId, { limit: 10 }).then((list) => list.snapshots)),
  )
  return anonymous(prepared, { sandboxes, snapshots })
}

/** All that is saved is there with its blobs, the next sandbox gets it, and at last nothing is left over. */
async function expectSound({ world }: Prepared, place: string): Promise<void> {
  const { store, scope, now } = world
  const checkpoints = createCheckpointStore({ ...engines, scope, now })
  const { sandboxes } = await store.list({ limit: 10 })
  let uses = 0
  for (const { sandboxId } of sandboxes) {
    const { snapshots } = await store.listSnapshots(sandboxId, { limit: 10 })
    expect(snapshots.map(({ snapshotSeq }) => snapshotSeq)).toEqual(snapshots.map((_, index) => index + 1))
    for (const { snapshotSeq } of snapshots) {
      const { files } = (await store.getSnapshot(sandboxId, snapshotSeq)) ?? { files: [] }
      const keys = new Set(files.map((file) => (file.kind === 'file' ? file.blobKey : '')))
      uses += keys.size
      for (const key of keys) expect(await world.blobs.head(key), place).not.toBeNull()
    }
  }
  const references = await checkpoints.listBlobReferences()
  expect(
    references.reduce((sum, { references: count }) => sum + count, 0),
    place,
  ).toBe(uses)
  const latest = await latestOf(world, 't')
  expect(latest, place).not.toBeNull()

  for (const { sandboxId } of (await store.list({ limit: 10 })).sandboxes) await store.destroy(sandboxId, anyone)
  world.advance(RETENTION_MS)
  for (const id of ['a', 'b']) {
    const request = { scope, id, olderThanMs: 0, dryRun: false, waitMs: 0 }
    await runScopeSweep({ ...engines, now, sandboxRetentionSec: RETENTION_MS / 1000 }, request, () => false)
  }
  const [sandboxId, seq] = latest?.split('#') ?? []
  const kept = await store.getSnapshot(sandboxId ?? '', Number(seq))
  for (const file of kept?.files ?? []) {
    if (file.kind === 'file') expect(await world.blobs.head(file.blobKey), place).not.toBeNull()
  }
  const items = await world.items()
  // The workspace keys, the sandbox that the latest snapshot is of, its place, that snapshot with its checkpoint.
  const kinds = items.map((key) => key.slice(0, 1)).filter((kind) => kind !== 'K' && kind !== 'G')
  expect(kinds.sort(), place).toEqual(['B', 'C', 'C', 'I', 'S'])
}
