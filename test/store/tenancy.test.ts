import { createHash } from 'node:crypto'
import { afterAll, describe, expect } from 'vitest'
import { createBlobStore } from '../../src/blobs/store.ts'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import { createInstanceStore } from '../../src/instances/store.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { observe } from '../../testkit/checkpoints/assertions.ts'
import { artifact, checkpoint, file } from '../../testkit/checkpoints/fixtures.ts'
import { startEngines } from '../support/engines.ts'
import { check } from './support/check.ts'
import { outcome } from './support/stores.ts'

const engines = await startEngines()
afterAll(engines.stop)

const bytes = Buffer.from('the same in every scope')
const key = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`

function open(scope: Scope) {
  return {
    checkpoints: createCheckpointStore({ ...engines, scope }),
    instances: createInstanceStore({ ...engines, scope }),
    blobs: createBlobStore({ ...engines, scope }),
  }
}
type Stores = ReturnType<typeof open>

/** All that can be seen through the stores of a scope. */
async function view({ checkpoints, instances, blobs }: Stores) {
  return {
    checkpoints: await observe(checkpoints, ['t', 'other'], ['a', 'b', 'f']),
    page: await checkpoints.listPage({ threadId: 't', maxBytes: 1 }),
    instance: await instances.get('k'),
    blobs: (await blobs.list('')).map((blob) => blob.key),
    blob: (await blobs.get(key))?.size ?? null,
    missing: (await blobs.prepareUploads([{ key, size: bytes.length }])).length,
    found: (await blobs.prepareDownloads([key])).filter(({ download }) => download !== null).length,
  }
}

/** Two checkpoints, an instance and a blob, under the same names in every scope. `label` tells the scope. */
async function fill({ checkpoints, instances, blobs }: Stores, label: string) {
  await blobs.put(key, bytes)
  await instances.upsert({ key: 'k', provider: label, providerSandboxId: 's', threadId: 't', updatedAt: 1 })
  const lease = await checkpoints.acquireWriter('t')
  expect(lease.fence, label).toBe(1)
  const files = [{ ...file('f'), blobKey: key }]
  const large = Array.from({ length: 300 }, (_, n) => artifact(n))
  const first = checkpoint('t', 'a', null, { label, files, artifacts: large })
  await checkpoints.append({ checkpoint: first, expectedHeadId: null, writer: lease })
  await checkpoints.append({ checkpoint: checkpoint('t', 'b', 'a', { label }), expectedHeadId: 'a', writer: lease })
  return lease
}

async function empty({ checkpoints, instances, blobs }: Stores, lease: Awaited<ReturnType<typeof fill>>) {
  await checkpoints.deleteCheckpoints({ threadId: 't', keep: 1, writer: lease })
  await checkpoints.deleteHead({ threadId: 't', checkpointId: 'b', writer: lease })
  await lease.release()
  await instances.delete('k')
  await blobs.delete(key)
}

const scope = (tenant: string, project: string): Scope => ({ tenant, project })

/** Scopes whose names differ by little, or join to the same text. */
const scopes = [
  scope('a', 'b.c'),
  scope('a.b', 'c'),
  scope('a', 'b'),
  scope('a', 'b-'),
  scope('b', 'a'),
  scope('A', 'b'),
  scope('a', 'B'),
  scope('a-', 'b'),
  scope('a', 'b0'),
  scope('ab', 'b'),
]

describe('two scopes', () => {
  check('see, count, list, overwrite and delete nothing of each other', async () => {
    const stores = scopes.map(open)
    const nothing = await view(open(scope('nobody', 'x')))
    const views: Array<Awaited<ReturnType<typeof view>>> = []
    const leases: Array<Awaited<ReturnType<typeof fill>>> = []
    for (const [index, each] of stores.entries()) {
      expect(await view(each)).toEqual(nothing)
      leases.push(await fill(each, `scope ${index}`))
      views.push(await view(each))
      expect(views[index]?.checkpoints.gets.a?.label).toBe(`scope ${index}`)
      expect(views[index]?.checkpoints.references).toHaveLength(301)
      expect(views[index]?.instance?.provider).toBe(`scope ${index}`)
    }
    for (const [index, each] of stores.entries()) expect(await view(each)).toEqual(views[index])
    for (const parity of [0, 1]) {
      for (const [index, each] of stores.entries()) {
        const lease = leases[index]
        if (lease && index % 2 === parity) await empty(each, lease)
      }
      for (const [index, each] of stores.entries()) {
        expect(await view(each)).toEqual(index % 2 <= parity ? nothing : views[index])
      }
    }
  })

  check('cannot use ids, leases and page tokens of each other', async () => {
    const mine = open(engines.freshScope())
    const theirs = open(engines.freshScope())
    const lease = await fill(mine, 'mine')
    const { next } = await mine.checkpoints.listPage({ threadId: 't', maxBytes: 1 })
    expect(next).not.toBeNull()
    const store = theirs.checkpoints
    const before = [await view(mine), await view(theirs)]
    const writer = { threadId: 't', ownerToken: lease.ownerToken, fence: lease.fence }
    const write = { checkpoint: checkpoint('t', 'x', 'b'), expectedHeadId: 'b', writer }
    expect(await outcome(store.append(write))).toBe('WRITER_LOST')
    expect(await outcome(store.deleteHead({ threadId: 't', checkpointId: 'b', writer }))).toBe('WRITER_LOST')
    expect(await outcome(store.deleteCheckpoints({ threadId: 't', keep: 1, writer }))).toBe('WRITER_LOST')
    expect(await outcome(store.renewWriter(writer))).toBe('WRITER_LOST')
    expect(await outcome(store.releaseWriter(writer))).toBe('ok')
    expect(await outcome(store.listPage({ threadId: 't', after: next, maxBytes: 1 }))).toBe('page_expired')
    const fork = {
      sourceThreadId: 't',
      sourceCheckpointId: 'a',
      destinationThreadId: 'other',
      destinationCheckpointId: 'f',
      createdAt: 1,
    }
    const own = await store.acquireWriter('other')
    expect(await outcome(store.forkFromCheckpoint({ ...fork, writer: own }))).toBe('FORK_SOURCE_NOT_FOUND')
    expect([await view(mine), await view(theirs)]).toEqual(before)
    await lease.renew()
  })
})

describe('a scope', () => {
  check('has names that cannot join to those of another', async () => {
    const bad = ['', 'a#b', 'a/b', 'a b', '.a', '-a', '_a', '..', 'a\n', 'ä', 'a%2Fb', 'x'.repeat(129), undefined, 7]
    for (const name of bad as string[]) {
      for (const wrong of [scope(name, 'p'), scope('t', name)]) {
        for (const create of [createCheckpointStore, createInstanceStore, createBlobStore]) {
          expect(() => create({ ...engines, scope: wrong }), String(name)).toThrow('must be 1 to 128 characters')
        }
      }
    }
    open(scope('x'.repeat(128), '0._-'))
  })
})
