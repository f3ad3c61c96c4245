import { afterAll, describe, expect, it } from 'vitest'
import { send } from '../store/support/send.ts'
import { startEngines } from '../support/engines.ts'
import { checkpointOf, scopeUnderSweep } from './support/scope-under-sweep.ts'

const engines = await startEngines()
afterAll(engines.stop)

const TEXT = 'reused'

/** A blob that nothing uses, and a capture that holds its lease. */
async function withCapture() {
  const scope = scopeUnderSweep(engines)
  const key = await scope.put(TEXT)
  const writer = await scope.checkpoints.acquireWriter('thread')
  return {
    scope,
    key,
    writer,
    ask: () => scope.blobs.prepareUploads([{ key, size: TEXT.length }]),
    commit: async () => {
      await scope.checkpoints.append({ checkpoint: checkpointOf('thread', 'one', [key]), expectedHeadId: null, writer })
      await writer.release()
    },
    expectKept: async () => {
      // Twice: what a first sweep condemned, a second would delete.
      for (let sweeps = 0; sweeps < 2; sweeps++) expect((await scope.sweep()).deletedBlobs).toEqual([])
      const body = await scope.blobs.get(key)
      expect(await new Response(body?.stream()).text()).toBe(TEXT)
      expect(await scope.versions('blobs')).toHaveLength(1)
      expect(await scope.state()).toEqual([])
    },
  }
}

describe('a capture that saw the blob before it was condemned', () => {
  it('commits during the grace, and the blob is spared', async () => {
    const { scope, key, ask, commit, expectKept } = await withCapture()
    expect(await ask()).toEqual([])
    expect(await scope.sweep()).toMatchObject({ waiting: true, counts: { condemned: 1 } })
    await commit()
    expect(await scope.sweep()).toMatchObject({ deletedBlobs: [], counts: { spared: 1, deleted: 0 } })
    expect(await scope.blobs.head(key)).not.toBeNull()
    await expectKept()
  })

  it('is refused when its lease has ended, and the blob goes', async () => {
    const { scope, key, ask, commit, writer } = await withCapture()
    expect(await ask()).toEqual([])
    await scope.sweep()
    await writer.release()
    expect(await scope.sweep()).toMatchObject({ deletedBlobs: [key] })
    await expect(commit()).rejects.toMatchObject({ code: 'SANDBOX_SNAPSHOT_WRITER_LOST' })
  })

  it('finds an upload refused by 412 to be as good as its own', async () => {
    const scope = scopeUnderSweep(engines)
    const writer = await scope.checkpoints.acquireWriter('thread')
    const bytes = Buffer.from(TEXT)
    const other = scopeUnderSweep(engines)
    const key = await other.put(TEXT)
    const [prepared] = await scope.blobs.prepareUploads([{ key, size: bytes.length }])
    if (!prepared) throw new Error('The blob is there already.')
    // Another uploads it in the meantime, and it is condemned.
    await scope.put(TEXT)
    expect(await scope.sweep()).toMatchObject({ waiting: true, counts: { condemned: 1 } })
    expect((await send(prepared.upload, bytes)).status).toBe(412)
    await scope.checkpoints.append({ checkpoint: checkpointOf('thread', 'one', [key]), expectedHeadId: null, writer })
    await writer.release()
    expect(await scope.sweep()).toMatchObject({ deletedBlobs: [], counts: { spared: 1 } })
    expect(await scope.stored()).toEqual([key])
  })
})

describe('a capture that asks for a condemned blob', () => {
  /** Condemned, waiting for another's lease. */
  async function condemned() {
    const capture = await withCapture()
    const other = await capture.scope.checkpoints.acquireWriter('other')
    expect(await capture.scope.sweep()).toMatchObject({ waiting: true, counts: { condemned: 1 } })
    return { ...capture, other }
  }

  it('is told that it is missing; reads still find it', async () => {
    const { scope, key, ask } = await condemned()
    expect(await scope.blobs.head(key)).toBeNull()
    expect(await ask()).toMatchObject([{ key }])
    expect(await scope.blobs.get(key)).not.toBeNull()
    expect(await scope.blobs.prepareDownloads([key])).toMatchObject([{ size: TEXT.length }])
  })

  const uploads: Array<[string, (capture: Awaited<ReturnType<typeof condemned>>) => Promise<unknown>]> = [
    ['put', ({ scope }) => scope.put(TEXT)],
    [
      'a presigned request',
      async ({ ask }) => {
        const [prepared] = await ask()
        if (!prepared) throw new Error('The blob is there already.')
        expect((await send(prepared.upload, Buffer.from(TEXT))).status).toBe(200)
      },
    ],
  ]
  for (const [name, upload] of uploads) {
    it(`makes a version of its own by ${name}, which the delete leaves`, async () => {
      const capture = await condemned()
      const { scope, other, writer, commit, expectKept } = capture
      const [old] = await scope.versions('blobs')
      await upload(capture)
      expect(await scope.versions('blobs')).toHaveLength(2)
      await other.release()
      await writer.release()
      // The delete comes before the commit, under a lease that is younger than the page.
      const next = await scope.checkpoints.acquireWriter('thread')
      await scope.sweep()
      expect(await scope.versions('blobs')).not.toContainEqual(old)
      expect(await scope.versions('blobs')).toHaveLength(1)
      await next.release()
      await expect(commit()).rejects.toMatchObject({ code: 'SANDBOX_SNAPSHOT_WRITER_LOST' })
      await scope.commit('again', [await scope.put(TEXT)])
      await expectKept()
    })

    it(`commits what it uploaded by ${name} before the delete, and the old version goes`, async () => {
      const capture = await condemned()
      const { scope, other, commit, expectKept } = capture
      await upload(capture)
      await commit()
      await other.release()
      await scope.sweep()
      await expectKept()
    })
  }

  it('does not hide the blob from other uploads once the page is gone', async () => {
    const { scope, key, other, writer, ask } = await condemned()
    await other.release()
    await writer.release()
    expect(await scope.sweep()).toMatchObject({ deletedBlobs: [key] })
    expect(await ask()).toHaveLength(1)
    await scope.put(TEXT)
    expect(await ask()).toEqual([])
    expect(await scope.blobs.head(key)).not.toBeNull()
  })
})

describe('a fork', () => {
  it('makes its own version of a blob that was condemned before', async () => {
    const { scope, key } = await withCapture()
    const blocker = await scope.checkpoints.acquireWriter('blocker')
    expect(await scope.sweep()).toMatchObject({ waiting: true, counts: { condemned: 1 } })
    // Committed by one who asked before: the source of the fork.
    const source = checkpointOf('blocker', 'source', [key])
    await scope.checkpoints.append({ checkpoint: source, expectedHeadId: null, writer: blocker })
    const writer = await scope.checkpoints.acquireWriter('fork')
    await scope.checkpoints.forkFromCheckpoint({
      ...{ sourceThreadId: 'blocker', sourceCheckpointId: 'source', destinationThreadId: 'fork' },
      ...{ destinationCheckpointId: 'copy', createdAt: 1, writer },
    })
    expect(await scope.versions('blobs')).toHaveLength(2)
    // The reference moves from the source to the fork, as seen by a read that meets neither.
    await scope.checkpoints.deleteHead({ threadId: 'blocker', checkpointId: 'source', writer: blocker })
    await blocker.release()
    await writer.release()
    scope.advance(200_000)
    for (let sweeps = 0; sweeps < 3; sweeps++) expect((await scope.sweep()).deletedBlobs).toEqual([])
    expect(await scope.stored()).toEqual([key])
    expect(await scope.versions('blobs')).toHaveLength(1)
  })

  it('copies nothing when nothing is condemned', async () => {
    const { scope, key, commit } = await withCapture()
    await commit()
    const writer = await scope.checkpoints.acquireWriter('fork')
    await scope.checkpoints.forkFromCheckpoint({
      ...{ sourceThreadId: 'thread', sourceCheckpointId: 'one', destinationThreadId: 'fork' },
      ...{ destinationCheckpointId: 'copy', createdAt: 1, writer },
    })
    expect(await scope.versions('blobs')).toHaveLength(1)
    expect(await scope.stored()).toEqual([key])
  })
})
