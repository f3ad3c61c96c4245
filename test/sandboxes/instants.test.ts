import { afterAll, describe, expect, test } from 'vitest'
import { Bodies } from '../../src/checkpoints/bodies.ts'
import { sweepSandboxes } from '../../src/sandboxes/sweep.ts'
import { Table } from '../../src/table/table.ts'
import { after as doFirst, injectFaults } from '../store/support/faults.ts'
import { outcome } from '../store/support/stores.ts'
import { startEngines } from '../support/engines.ts'
import { ownClients } from '../sweep/support/scope-under-sweep.ts'
import { anyone, MINUTE_MS, RETENTION_MS, type SandboxWorld, sandboxWorld } from './support/world.ts'

/** What happens to one sandbox at the same instant: each of the two comes just before the other writes. */

const engines = await startEngines()
afterAll(engines.stop)

interface SweepOptions {
  dynamodb?: typeof engines.dynamodb
  /** By how much its clock is ahead, in milliseconds. */
  ahead?: number
  timeIsUp?: boolean
}

function sweep({ scope, now }: SandboxWorld, { dynamodb = engines.dynamodb, ahead = 0, timeIsUp }: SweepOptions = {}) {
  return sweepSandboxes({
    ...{ scope, retentionMs: RETENTION_MS, now: () => now() + ahead, timeIsUp: () => timeIsUp === true },
    table: new Table(dynamodb, engines.tableName),
    bodies: new Bodies(engines.s3, engines.bucketName, scope),
  })
}

/** Clients whose first transaction waits until something else has happened. */
function clientsAfter(work: () => Promise<unknown>) {
  const clients = ownClients(engines)
  injectFaults(clients.dynamodb, 'TransactWriteItems', [doFirst(work)])
  return clients
}

describe('a renewal and the expiry', () => {
  const expiring = async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't', ttlSeconds: 60 })
    world.advance(MINUTE_MS - 1)
    return { world, sandboxId }
  }

  test('that a sweep made final just before: it is expired', async () => {
    const { world, sandboxId } = await expiring()
    const clients = clientsAfter(() => sweep(world, { ahead: 1 }))
    expect(await outcome(world.storeWith(clients).renew(sandboxId, 60))).toBe('sandbox_expired')
    expect(await world.store.get(sandboxId)).toMatchObject({ status: 'expired' })
  })

  test('that a sweep is about to make final: it goes on, and may be reused', async () => {
    const { world, sandboxId } = await expiring()
    const clients = clientsAfter(() => world.store.renew(sandboxId, 60))
    await sweep(world, { dynamodb: clients.dynamodb, ahead: 1 })
    world.advance(MINUTE_MS - 1)
    expect(await world.store.get(sandboxId)).toMatchObject({ status: 'running' })
    expect((await world.create({ taskId: 't', reuse: true })).sandboxId).toBe(sandboxId)
  })

  test.for(['start', 'stop', 'renew'] as const)('%s at its very instant is too late', async (action) => {
    const { world, sandboxId } = await expiring()
    if (action === 'start') await world.store.stop(sandboxId)
    world.advance(1)
    expect(await outcome(world.store[action](sandboxId))).toBe('sandbox_expired')
    expect((await world.create({ taskId: 't', reuse: true })).sandboxId).not.toBe(sandboxId)
  })
})

test('two creates with reuse, and the destruction of what they would reuse: both are given what is or was there', async () => {
  const world = sandboxWorld(engines)
  const reuse = () => world.store.create({ profile: 'p', taskId: 't', by: 'key:k', reuse: true })
  for (const _ of Array(5)) {
    const { sandbox: old } = await reuse()
    const [one, two] = await Promise.all([reuse(), reuse(), world.store.destroy(old.sandboxId, anyone)])
    const given = [one, two].filter(({ sandbox }) => sandbox.sandboxId !== old.sandboxId)
    // The one that there is from then on, made once.
    const { sandbox: now, reused } = await reuse()
    expect(reused).toBe(given.length > 0)
    for (const { sandbox } of given) expect(sandbox.sandboxId).toBe(now.sandboxId)
    expect([one, two].filter((each) => !each.reused)).toHaveLength(Math.min(given.length, 1))
    await world.store.destroy(now.sandboxId, anyone)
  }
})

describe('a removal by the sweep', () => {
  /** A sandbox that ended, with two snapshots. */
  const ended = async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't', ttlSeconds: 60 })
    for (const text of ['one', 'two']) await world.save(sandboxId, text)
    // Its key's latest is another one's.
    const { sandboxId: newer } = await world.create({ taskId: 't' })
    await world.save(newer, 'newer')
    world.advance(MINUTE_MS)
    await sweep(world)
    return { world, sandboxId }
  }
  const left = async (world: SandboxWorld, sandboxId: string) =>
    (await world.items()).filter((key) => key.includes(sandboxId))

  test.for([false, true])('and a save: nothing is added to what goes, with the time up: %s', async (timeIsUp) => {
    const { world, sandboxId } = await ended()
    const file = await world.put('late')
    const clients = clientsAfter(() => sweep(world, { ahead: RETENTION_MS, timeIsUp }))
    const saved = world.storeWith(clients).saveSnapshot(sandboxId, { reason: 'expiry', files: [file] })
    expect(await outcome(saved)).toBe(timeIsUp ? 'sandbox_expired' : 'not_found')
    // Whoever's clock it is: what has begun to go is gone.
    expect(await world.store.get(sandboxId)).toBeNull()
    expect(await world.store.getSnapshot(sandboxId, 2)).toBeNull()
    expect((await world.store.list({ taskId: 't', limit: 5 })).sandboxes).toHaveLength(1)
    while ((await sweep(world, { ahead: RETENTION_MS })).cleared > 0);
    expect(await left(world, sandboxId)).toEqual([])
  })

  test.for([false, true])('and a destruction: it was too late, with the time up: %s', async (timeIsUp) => {
    const { world, sandboxId } = await ended()
    world.advance(RETENTION_MS - 1)
    const clients = clientsAfter(() => sweep(world, { ahead: 1, timeIsUp }))
    expect(await outcome(world.storeWith(clients).destroy(sandboxId, anyone))).toBe('not_found')
    await sweep(world, { ahead: 1 })
    expect(await left(world, sandboxId)).toEqual([])
  })

  test('and a destruction just before: the sandbox is kept for as long again', async () => {
    const { world, sandboxId } = await ended()
    world.advance(RETENTION_MS - 1)
    const clients = ownClients(engines)
    injectFaults(clients.dynamodb, 'UpdateItem', [doFirst(() => world.store.destroy(sandboxId, anyone))])
    await sweep(world, { dynamodb: clients.dynamodb, ahead: 1 })
    world.advance(RETENTION_MS - 1)
    expect(await world.store.get(sandboxId)).toMatchObject({ status: 'destroyed', latestSnapshotSeq: 2 })
    expect(await world.store.getSnapshot(sandboxId, 1)).not.toBeNull()
  })
})
