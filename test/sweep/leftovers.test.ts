import { PutObjectCommand } from '@aws-sdk/client-s3'
import { afterAll, describe, expect, it } from 'vitest'
import { bodyObjectKey, stagingObjectKey } from '../../src/blobs/object-keys.ts'
import { hashText } from '../../src/text.ts'
import { injectFaults, loseAnswer, refuse } from '../store/support/faults.ts'
import { seededRandom } from '../store/support/stores.ts'
import { startEngines } from '../support/engines.ts'
import { Killed, killedAt } from './support/actors.ts'
import { checkpointOf, HOUR_MS, ownClients, scopeUnderSweep } from './support/scope-under-sweep.ts'

const engines = await startEngines()
afterAll(engines.stop)

/** Text that stays too large for an item. */
function large(seed: number): string {
  const random = seededRandom(seed)
  return Array.from({ length: 2_000 }, () => random().toString(36).slice(2)).join('')
}

function largeCheckpoint(threadId: string, id: string, parent: string | null = null) {
  return { ...checkpointOf(threadId, id, [], parent), conversation: [large(id.length)] }
}

describe('bodies', () => {
  it('of commits that never happened go, and those of checkpoints stay', async () => {
    const scope = scopeUnderSweep(engines)
    // Threads of all shards, so that bodies are listed before, between and after the threads that have some.
    const threads = Array.from({ length: 12 }, (_, index) => `thread ${index}`)
    for (const thread of threads) {
      const writer = await scope.checkpoints.acquireWriter(thread)
      const checkpoint = largeCheckpoint(thread, thread)
      await scope.checkpoints.append({ checkpoint, expectedHeadId: null, writer })
      await writer.release()
    }
    const orphans = [...threads.slice(0, 6), 'unknown thread', 'another unknown thread'].map((thread) =>
      bodyObjectKey(scope.scope, hashText(thread), 'orphan'),
    )
    for (const Key of orphans) {
      await engines.s3.send(new PutObjectCommand({ Bucket: engines.bucketName, Key, Body: Buffer.from('orphan') }))
    }
    expect(await scope.sweep()).toMatchObject({
      deletedBlobs: [],
      counts: { condemned: 8, deleted: 8, bytesFreed: 48 },
    })
    expect(await scope.versions('bodies')).toHaveLength(12)
    for (const thread of threads) expect(await scope.checkpoints.get(thread)).toEqual(largeCheckpoint(thread, thread))
  })

  it('on their way to a commit stay for as long as its lease lives', async () => {
    const scope = scopeUnderSweep(engines)
    const clients = ownClients(engines)
    const { checkpoints } = scope.stores(clients)
    const writer = await checkpoints.acquireWriter('thread')
    // The body is there, and the commit comes after the first sweep.
    injectFaults(clients.dynamodb, 'TransactWriteItems', [
      async (send) => {
        expect(await scope.versions('bodies')).toHaveLength(1)
        expect(await scope.sweep()).toMatchObject({ waiting: true, counts: { condemned: 1, deleted: 0 } })
        return send()
      },
    ])
    await checkpoints.append({ checkpoint: largeCheckpoint('thread', 'one'), expectedHeadId: null, writer })
    await writer.release()
    expect(await scope.sweep()).toMatchObject({ waiting: false, counts: { spared: 1, deleted: 0 } })
    expect(await scope.checkpoints.get('one')).toEqual(largeCheckpoint('thread', 'one'))
  })

  it('of a commit whose fate its writer never learned go only if it did not happen', async () => {
    for (const landed of [true, false]) {
      const scope = scopeUnderSweep(engines)
      const clients = ownClients(engines)
      const { checkpoints } = scope.stores(clients)
      const writer = await checkpoints.acquireWriter('thread')
      const dead = () => new Killed()
      injectFaults(clients.dynamodb, 'TransactWriteItems', [landed ? loseAnswer(dead) : refuse(dead)])
      const checkpoint = largeCheckpoint('thread', 'one')
      await expect(checkpoints.append({ checkpoint, expectedHeadId: null, writer })).rejects.toThrow(Killed)
      scope.advance(HOUR_MS)
      await scope.sweep()
      expect(await scope.versions('bodies')).toHaveLength(landed ? 1 : 0)
      expect(await scope.checkpoints.get('one')).toEqual(landed ? checkpoint : null)
    }
  })
})

it('clears what a prune left behind wherever it was killed', { timeout: 240_000 }, async () => {
  let cleared = 0
  for (let n = 1; ; n++) {
    const scope = scopeUnderSweep(engines)
    const used = await scope.put('used')
    const pruned = await scope.put('pruned')
    const writer = await scope.checkpoints.acquireWriter('thread')
    const ids = ['1', '22', '333']
    for (const [index, id] of ids.entries()) {
      const checkpoint = largeCheckpoint('thread', id, ids[index - 1] ?? null)
      checkpoint.files = checkpointOf('thread', id, [index === 2 ? used : pruned]).files
      await scope.checkpoints.append({ checkpoint, expectedHeadId: checkpoint.parentCheckpointId, writer })
    }
    const { clients, seen } = killedAt(engines, n, true)
    const dying = scope.stores(clients).checkpoints
    await dying.deleteCheckpoints({ threadId: 'thread', keep: 1, writer }).catch(() => undefined)
    await writer.release()
    const live = (await scope.checkpoints.list('thread')).map(({ id }) => id)
    const { counts } = await scope.sweep()
    cleared += counts.cleared
    expect((await scope.checkpoints.list('thread')).map(({ id }) => id)).toEqual(live)
    expect(await scope.stored()).toEqual(live.length === 1 ? [used] : [used, pruned].toSorted())
    // A second sweep: bodies of deleted checkpoints leave their delete markers to it.
    await scope.sweep()
    expect(await scope.versions('bodies')).toHaveLength(live.length)
    if (live.length === 1) {
      // The ids are free again.
      const next = await scope.checkpoints.acquireWriter('other')
      await scope.checkpoints.append({ checkpoint: checkpointOf('other', '1', []), expectedHeadId: null, writer: next })
    }
    if (seen() < n) break
  }
  expect(cleared).toBeGreaterThan(4)
})

it('removes staged uploads that are older than a day, and no younger ones', async () => {
  const scope = scopeUnderSweep(engines)
  const Key = stagingObjectKey(scope.scope, 'upload')
  await engines.s3.send(new PutObjectCommand({ Bucket: engines.bucketName, Key, Body: Buffer.from('x') }))
  scope.advance(22 * HOUR_MS)
  expect(await scope.sweep()).toMatchObject({ counts: { cleared: 0 } })
  expect(await scope.versions('staging')).toHaveLength(1)
  scope.advance(HOUR_MS + 1_000)
  expect(await scope.sweep()).toMatchObject({ counts: { cleared: 1 } })
  expect(await scope.versions('staging')).toEqual([])
})
