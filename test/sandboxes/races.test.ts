import { createHash } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { createBlobStore } from '../../src/blobs/store.ts'
import { Bodies } from '../../src/checkpoints/bodies.ts'
import type { SandboxSnapshotFileEntry } from '../../src/checkpoints/types.ts'
import { BlobsMissingError } from '../../src/errors.ts'
import { createSandboxStore } from '../../src/sandboxes/store.ts'
import { sweepSandboxes } from '../../src/sandboxes/sweep.ts'
import { runScopeSweep } from '../../src/sweep/run.ts'
import { Table } from '../../src/table/table.ts'
import { after as doFirst, injectFaults } from '../store/support/faults.ts'
import { outcome, seededRandom } from '../store/support/stores.ts'
import { startEngines } from '../support/engines.ts'
import { type Clients, ownClients } from '../sweep/support/scope-under-sweep.ts'
import { INTERRUPTIONS, interrupt, KilledError } from './support/interrupt.ts'
import { anyone, DAY_MS, MINUTE_MS, RETENTION_MS, type SandboxWorld, sandboxWorld } from './support/world.ts'

const engines = await startEngines()
afterAll(engines.stop)

let sweeps = 0

function sweep({ scope, now }: SandboxWorld, clients: Clients = engines) {
  const request = { scope, id: `sweep-${++sweeps}`, olderThanMs: 0, dryRun: false, waitMs: 0 }
  return runScopeSweep({ ...engines, ...clients, now, sandboxRetentionSec: RETENTION_MS / 1000 }, request, () => false)
}

/** What of a sweep is of sandboxes. */
function partOf({ scope, now }: SandboxWorld, { dynamodb, s3 }: Clients) {
  const { tableName, bucketName } = engines
  const bodies = new Bodies(s3, bucketName, scope)
  return { table: new Table(dynamodb, tableName), bodies, scope, now, retentionMs: RETENTION_MS, timeIsUp: () => false }
}

/** Whether reads find a blob, condemned or not. */
async function isThere({ blobs }: SandboxWorld, key: string): Promise<boolean> {
  const body = await blobs.get(key)
  // One that is not read to its end would keep its connection.
  await body?.arrayBuffer()
  return body !== null
}

async function expectNoDangling(world: SandboxWorld, sandboxId: string): Promise<void> {
  const { snapshots } = await world.store.listSnapshots(sandboxId, { limit: 100 })
  for (const { snapshotSeq } of snapshots) {
    const { files = [] } = (await world.store.getSnapshot(sandboxId, snapshotSeq)) ?? {}
    for (const entry of files) {
      if (entry.kind === 'file') expect(await isThere(world, entry.blobKey), `snapshot ${snapshotSeq}`).toBe(true)
    }
  }
}

describe('a save and a sweep', () => {
  test('a blob that is condemned when the save looks for it is missing, and is there once it was uploaded again', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    const file = await world.put('x')
    // A lease of another thread lets the sweep condemn, and not delete.
    const other = createSandboxStore({ ...engines, scope: world.scope, now: world.now })
    const holding = new Promise<void>((resolve, reject) => {
      const clients = ownClients(engines)
      injectFaults(clients.dynamodb, 'TransactWriteItems', [
        doFirst(async () => {
          await sweep(world)
          const refused = world.store.saveSnapshot(sandboxId, { reason: 'stop', files: [file] })
          await expect(refused).rejects.toBeInstanceOf(BlobsMissingError)
          await world.put('x')
          await world.store.saveSnapshot(sandboxId, { reason: 'stop', files: [file] })
        }),
      ])
      other
        .create({ profile: 'p', by: 'key:k' })
        .then(({ sandbox }) => world.storeWith(clients).saveSnapshot(sandbox.sandboxId, { reason: 'stop', files: [] }))
        .then(() => resolve(), reject)
    })
    await holding
    await sweep(world)
    await expectNoDangling(world, sandboxId)
  })

  test.for(['UpdateItem', 'GetItem', 'Query', 'TransactWriteItems'])(
    'the sweep runs whole before the save sends %s: no snapshot has a blob that is gone',
    async (command) => {
      const world = sandboxWorld(engines)
      const { sandboxId } = await world.create({ taskId: 't' })
      await world.save(sandboxId, 'old')
      const file = await world.put('x')
      const clients = ownClients(engines)
      const whole = doFirst(async () => {
        await sweep(world)
        await sweep(world)
      })
      using faults = injectFaults(clients.dynamodb, command, [whole, whole, whole])
      const saved = await outcome(world.storeWith(clients).saveSnapshot(sandboxId, { reason: 'stop', files: [file] }))
      expect(faults.seen).toBeGreaterThan(0)
      expect(['ok', 'blob_missing']).toContain(saved)
      await sweep(world)
      await expectNoDangling(world, sandboxId)
    },
  )

  test('the sweep condemns before the save, and decides after its commit', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    const file = await world.put('x')
    const clients = ownClients(engines)
    // Between the look at the pages and the commit.
    using _faults = injectFaults(clients.dynamodb, 'TransactWriteItems', [doFirst(() => sweep(world))])
    expect(await outcome(world.storeWith(clients).saveSnapshot(sandboxId, { reason: 'stop', files: [file] }))).toBe(
      'ok',
    )
    await sweep(world)
    await expectNoDangling(world, sandboxId)
  })

  test('a save that is over, or was refused, keeps no sweep waiting', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    await world.save(sandboxId, 'x')
    const { blobKey } = await world.put('unused')
    const missing = { kind: 'file', path: 'f', blobKey: `sandbox-files/sha256/${'0'.repeat(64)}`, size: 1 } as const
    const refused = world.store.saveSnapshot(sandboxId, { reason: 'stop', files: [missing] })
    expect(await outcome(refused)).toBe('blob_missing')
    expect((await sweep(world)).report).toMatchObject({ state: 'done', deleted: 1 })
    expect(await isThere(world, blobKey)).toBe(false)
  })

  test('a save whose lease a sweep has ended commits nothing', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    const file = await world.put('x')
    const before = await world.store.get(sandboxId)
    const clients = ownClients(engines)
    const late = doFirst(async () => {
      await sweep(world)
      world.advance(2 * MINUTE_MS)
      await sweep(world)
      expect(await isThere(world, file.blobKey)).toBe(false)
    })
    using _faults = injectFaults(clients.dynamodb, 'TransactWriteItems', [late])
    const saved = world.storeWith(clients).saveSnapshot(sandboxId, { reason: 'stop', files: [file] })
    expect(await outcome(saved)).toBe('WRITER_LOST')
    expect(await world.store.get(sandboxId)).toEqual(before)
  })

  test.for([1, 2, 3])('of many at random no snapshot loses a blob, seed %i', { timeout: 60_000 }, async (seed) => {
    const world = sandboxWorld(engines)
    const random = seededRandom(seed)
    const ids = [await world.create({ taskId: 't' }), await world.create({ taskId: 't' })].map((s) => s.sandboxId)
    let saves = 0
    const saver = async (id: string) => {
      const blobs = createBlobStore({ ...engines, scope: world.scope, now: world.now })
      for (let round = 0; round < 12; round++) {
        const text = `text-${Math.floor(random() * 6)}`
        const bytes = Buffer.from(text)
        // As a client does: it uploads what it is told is missing, and saves.
        const file: SandboxSnapshotFileEntry = { ...(await fileOf(world, text)), size: bytes.length }
        for (let attempt = 0; attempt < 5; attempt++) {
          if ((await blobs.head(file.blobKey)) === null) await blobs.put(file.blobKey, bytes)
          const saved = await outcome(world.store.saveSnapshot(id, { reason: 'autosave', files: [file] }))
          expect(['ok', 'blob_missing', 'WRITER_LOST']).toContain(saved)
          if (saved !== 'ok') continue
          saves += 1
          break
        }
      }
    }
    let saving = true
    const sweeper = async () => {
      while (saving) await sweep(world)
    }
    await Promise.all([Promise.all(ids.map(saver)).finally(() => (saving = false)), sweeper()])
    expect(saves).toBeGreaterThan(20)
    await sweep(world)
    for (const id of ids) await expectNoDangling(world, id)
  })
})

async function fileOf(world: SandboxWorld, text: string): Promise<SandboxSnapshotFileEntry> {
  const hash = createHash('sha256').update(text).digest('hex')
  return { kind: 'file', path: world.scope.tenant, blobKey: `sandbox-files/sha256/${hash}`, size: 0 }
}

describe('a removal by the sweep and', () => {
  /** A destroyed sandbox that was kept long enough, with two snapshots of which the second is the latest. */
  async function ended() {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    await world.save(sandboxId, 'one')
    await world.save(sandboxId, 'two')
    await world.store.destroy(sandboxId, anyone)
    world.advance(RETENTION_MS - 1)
    return { world, sandboxId }
  }

  test('a create from the snapshot: it has it, or is told that there is none', async () => {
    for (const when of ['TransactGetItems', 'UpdateItem', 'TransactWriteItems']) {
      const { world, sandboxId } = await ended()
      const clients = ownClients(engines)
      const removed = doFirst(async () => {
        world.advance(1)
        await sweep(world)
      })
      using _faults = injectFaults(clients.dynamodb, when, [removed])
      const source = { type: 'snapshot', sandboxId, snapshotSeq: 1 } as const
      const created = world.storeWith(clients).create({ profile: 'p', by: 'key:k', taskId: 'u', source })
      expect(await outcome(created)).toBe('not_found')
      expect(await world.store.getSnapshot(sandboxId, 1)).toBeNull()
    }
  })

  test('a create just before it: the snapshot stays', async () => {
    const { world, sandboxId } = await ended()
    const clients = ownClients(engines)
    const source = { type: 'snapshot', sandboxId, snapshotSeq: 1 } as const
    // Each time the sweep is about to write, one more is created from it.
    const pin = doFirst(async () => outcome(world.store.create({ profile: 'p', by: 'key:k', source })))
    using _faults = injectFaults(clients.dynamodb, 'TransactWriteItems', [pin, pin, pin])
    await world.create({ source })
    world.advance(1)
    await sweep(world, clients)
    expect(await world.store.getSnapshot(sandboxId, 1)).not.toBeNull()
    expect((await world.store.getSnapshot(sandboxId, 1))?.files).toEqual([await world.put('one')])
  })

  test.for(INTERRUPTIONS)('%s at any request: the next sweep leaves the same', { timeout: 120_000 }, async (how) => {
    const build = async () => {
      const { world, sandboxId } = await ended()
      // One that pins the first snapshot, and has ended too.
      const pinning = await world.create({
        source: { type: 'snapshot', sandboxId, snapshotSeq: 1 },
        ttlSeconds: 1,
      })
      world.advance(RETENTION_MS + DAY_MS)
      return { world, sandboxId, pinning: pinning.sandboxId }
    }
    const left = async ({ world, sandboxId, pinning }: Awaited<ReturnType<typeof build>>) => {
      for (const _ of ['frees the snapshot', 'removes it']) await sweepSandboxes(partOf(world, engines))
      expect(await world.store.getSnapshot(sandboxId, 1)).toBeNull()
      expect(await world.store.getSnapshot(sandboxId, 2)).toMatchObject({ latest: true })
      expect((await world.create({ taskId: 't', restoreLatest: true })).restore).toEqual({ sandboxId, snapshotSeq: 2 })
      expect((await world.items()).filter((key) => key.includes(pinning))).toEqual([])
    }
    for (let n = 1, done = false; !done; n++) {
      const built = await build()
      const clients = ownClients(engines)
      const counter = interrupt(clients, n, how)
      const swept = await sweepSandboxes(partOf(built.world, clients)).catch((error: unknown) => error)
      if (swept instanceof Error) expect(swept).toBeInstanceOf(KilledError)
      done = counter.requests < n
      await left(built)
      for (const client of Object.values(clients)) client.destroy()
    }
  })
})
