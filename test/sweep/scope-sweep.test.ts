import { afterAll, describe, expect, it } from 'vitest'
import { startEngines } from '../support/engines.ts'
import { checkpointOf, LEASE_MS, scopeUnderSweep } from './support/scope-under-sweep.ts'

const engines = await startEngines()
afterAll(engines.stop)

describe('a sweep', () => {
  it('deletes what no checkpoint uses, and nothing else', async () => {
    const scope = scopeUnderSweep(engines)
    const used = await scope.put('used')
    const unused = await scope.put('unused')
    await scope.commit('thread', [used])

    const { counts, deletedBlobs, failures, waiting } = await scope.sweep()

    expect({ deletedBlobs, failures, waiting }).toEqual({ deletedBlobs: [unused], failures: [], waiting: false })
    expect(counts).toEqual({
      ...{ listed: 2, referenced: 1, condemned: 1, spared: 0, deleted: 1, bytesFreed: 6, cleared: 0 },
    })
    expect(await scope.stored()).toEqual([used])
    expect(await scope.versions('blobs')).toHaveLength(1)
    expect(await scope.sweep()).toMatchObject({ counts: { listed: 1, condemned: 0, deleted: 0 } })
  })

  it('deletes only what is older than asked for, strictly', async () => {
    const scope = scopeUnderSweep(engines)
    const key = await scope.put('content')
    const uploadedAt = (await scope.blobs.head(key))?.uploadedAt ?? 0
    const at = (age: number) => ({ now: () => uploadedAt + age, olderThanMs: 1_000 })
    expect(await scope.sweep(at(999))).toMatchObject({ deletedBlobs: [] })
    expect(await scope.sweep(at(1_000))).toMatchObject({ deletedBlobs: [] })
    expect(await scope.sweep(at(1_001))).toMatchObject({ deletedBlobs: [key] })
  })

  it('changes nothing when it is dry', async () => {
    const scope = scopeUnderSweep(engines)
    await scope.commit('thread', [await scope.put('used')])
    await scope.put('unused')
    const before = [await scope.versions('blobs'), await scope.state()]
    expect(await scope.sweep({ dryRun: true })).toMatchObject({
      deletedBlobs: [],
      counts: { listed: 2, referenced: 1, condemned: 1, deleted: 0, bytesFreed: 0 },
    })
    expect([await scope.versions('blobs'), await scope.state()]).toEqual(before)
  })

  it('leaves other scopes alone', async () => {
    const [scope, other] = [scopeUnderSweep(engines), scopeUnderSweep(engines)]
    const key = await scope.put('the same')
    await other.put('the same')
    await other.commit('thread', [key])
    await scope.sweep()
    expect(await scope.stored()).toEqual([])
    expect(await other.stored()).toEqual([key])
    expect(await other.state()).toEqual([])
  })
})

describe('before it deletes, a sweep waits for each lease that was live when it condemned', () => {
  /** A scope with one unused blob, which a first sweep has condemned while a lease was live. */
  async function condemned() {
    const scope = scopeUnderSweep(engines)
    const key = await scope.put('unused')
    const writer = await scope.checkpoints.acquireWriter('thread')
    expect(await scope.sweep()).toMatchObject({ waiting: true, deletedBlobs: [], counts: { condemned: 1 } })
    const expectWaiting = async () => {
      expect(await scope.sweep()).toMatchObject({ waiting: true, deletedBlobs: [], counts: { condemned: 0 } })
      expect(await scope.stored()).toEqual([key])
    }
    const expectDeleted = async () => {
      expect(await scope.sweep()).toMatchObject({ waiting: false, deletedBlobs: [key] })
      expect(await scope.stored()).toEqual([])
      expect(await scope.state()).toEqual([])
    }
    return { scope, key, writer, expectWaiting, expectDeleted }
  }

  it('until it is released', async () => {
    const { writer, expectWaiting, expectDeleted } = await condemned()
    await expectWaiting()
    await writer.release()
    await expectDeleted()
  })

  it('until it has expired, renewed or not', async () => {
    const { scope, writer, expectWaiting, expectDeleted } = await condemned()
    scope.advance(LEASE_MS - 1_000)
    await expectWaiting()
    await writer.renew()
    scope.advance(LEASE_MS - 1_000)
    await expectWaiting()
    scope.advance(1_001)
    await expectDeleted()
  })

  it('until it is taken over', async () => {
    const { scope, expectDeleted } = await condemned()
    scope.advance(LEASE_MS + 1)
    await scope.checkpoints.acquireWriter('thread')
    await expectDeleted()
  })

  it('and not for those that come later', async () => {
    const { scope, writer, expectDeleted } = await condemned()
    await writer.release()
    await scope.checkpoints.acquireWriter('thread')
    await scope.checkpoints.acquireWriter('another thread')
    await expectDeleted()
  })

  it('and takes a lease that is past its end off the thread, so that a clock which is behind ours writes no more', async () => {
    const { scope, key, expectDeleted } = await condemned()
    scope.advance(LEASE_MS + 1)
    // By this clock the next lease is live for as long as the last one.
    const behind = scope.stores(engines, () => scope.now() - LEASE_MS)
    const writer = await scope.checkpoints.acquireWriter('slow')
    scope.advance(LEASE_MS + 1)
    await expectDeleted()
    const append = (expectedHeadId: null) =>
      behind.checkpoints.append({ checkpoint: checkpointOf('slow', 'one', [key]), expectedHeadId, writer })
    // A lease that nothing was waited for: it may write, and has asked after the blob was condemned.
    await expect(append(null)).resolves.toBeDefined()
  })

  it('and refuses the commit of a slow clock that it did not wait for', async () => {
    const scope = scopeUnderSweep(engines)
    const key = await scope.put('unused')
    const behind = scope.stores(engines, () => scope.now() - LEASE_MS)
    const writer = await behind.checkpoints.acquireWriter('slow')
    expect(await behind.blobs.head(key)).not.toBeNull()
    // Expired for the sweep, at once; live for the writer.
    expect(await scope.sweep()).toMatchObject({ waiting: false, deletedBlobs: [key] })
    expect(writer.expiresAt).toBeGreaterThan(scope.now() - LEASE_MS)
    await expect(
      behind.checkpoints.append({ checkpoint: checkpointOf('slow', 'one', [key]), expectedHeadId: null, writer }),
    ).rejects.toMatchObject({ code: 'SANDBOX_SNAPSHOT_WRITER_LOST' })
    expect(await scope.checkpoints.getHead('slow')).toBeNull()
  })

  it('for as long as it is told to, in one run', async () => {
    const { scope, key, writer } = await condemned()
    const sweeping = scope.sweep({ waitMs: 20_000 })
    await writer.release()
    expect(await sweeping).toMatchObject({ waiting: false, deletedBlobs: [key] })
  })

  it('and goes on condemning after a run whose time was up', async () => {
    const scope = scopeUnderSweep(engines)
    for (const text of ['1', '2', '3', '4']) await scope.put(text)
    const writer = await scope.checkpoints.acquireWriter('thread')
    let keys = 0
    const first = await scope.sweep({ timeIsUp: () => ++keys > 1 })
    expect(first).toMatchObject({ waiting: true, counts: { condemned: 2 } })
    expect(await scope.sweep({ resumeAfter: first.resumeAfter })).toMatchObject({
      waiting: true,
      counts: { condemned: 2 },
    })
    await writer.release()
    expect(await scope.sweep()).toMatchObject({ waiting: false, counts: { condemned: 0, deleted: 4 } })
  })
})
