import { expect } from 'vitest'
import type { SandboxCheckpointForkInput } from '../../src/checkpoints/types.ts'
import { expectList, expectReferences, expectRefused, expectUnchanged, type Refusal } from './assertions.ts'
import { check } from './check.ts'
import { append, artifactKey, checkpoint, fileKey, fullCheckpoint, grow, wrong } from './fixtures.ts'

interface Breakage {
  step: number
  refusal: Refusal
  what: string
  /** A variant of another breakage of this step, of which the pairs are enough. */
  alone?: true
  fields: Partial<SandboxCheckpointForkInput>
}

const source = { sourceThreadId: 'source', sourceCheckpointId: 'old' }

export const forkChecks = [
  check(
    'fork: copies files, conversation and artifacts of any checkpoint to the root of a new thread',
    async ({ store }) => {
      const sourceWriter = await store.acquireWriter('source')
      const old = fullCheckpoint('source', 'old', null)
      await store.append({ checkpoint: old, expectedHeadId: null, writer: sourceWriter })
      await append(store, sourceWriter, 'head', 'old')
      const before = { head: await store.getHead('source'), list: await store.list('source') }

      const { threadId, ownerToken, fence } = await store.acquireWriter('fork')
      const input = {
        ...source,
        destinationThreadId: 'fork',
        destinationCheckpointId: 'root',
        createdAt: -1.5,
        writer: { threadId, ownerToken, fence },
      }
      const { files, conversation, artifacts } = old
      const root = checkpoint('fork', 'root', null, {
        createdAt: -1.5,
        reason: 'fork-root',
        files,
        conversation,
        artifacts,
      })
      const answer = await store.forkFromCheckpoint(input)
      expect(answer).toEqual({ checkpoint: root })
      Object.assign(answer.checkpoint, { id: 'spoiled', files: [] })
      expect(await store.get('root')).toEqual(root)
      expect(await store.list('fork')).toEqual([root])
      expect(await store.getHead('fork')).toBe('root')
      expect({ head: await store.getHead('source'), list: await store.list('source') }).toEqual(before)
      await expectReferences(store, [
        [artifactKey(1), 2],
        [fileKey(1), 2],
      ])
    },
  ),

  check(
    'fork: stays whole when the source is deleted or pruned, and goes on as a thread of its own',
    async ({ store }) => {
      const sourceWriter = await store.acquireWriter('source')
      await grow(store, sourceWriter, ['old', 'mid', 'head'])
      for (const [id, from] of [
        ['one', 'old'],
        ['two', 'head'],
      ] as const) {
        await store.forkFromCheckpoint({
          sourceThreadId: 'source',
          sourceCheckpointId: from,
          destinationThreadId: id,
          destinationCheckpointId: `${id}-root`,
          createdAt: 1,
          writer: await store.acquireWriter(id),
        })
      }
      const roots = [await store.get('one-root'), await store.get('two-root')]
      await store.deleteHead({ threadId: 'source', checkpointId: 'head', writer: sourceWriter })
      await store.deleteCheckpoints({ threadId: 'source', keep: 1, writer: sourceWriter })
      expect([await store.get('one-root'), await store.get('two-root')]).toEqual(roots)
      expect(roots[0]?.files).toEqual([{ path: 'f', kind: 'file', blobKey: fileKey(1), size: 3 }])
      await expectReferences(store, [
        [fileKey(1), 1],
        [fileKey(2), 1],
        [fileKey(3), 1],
      ])
    },
  ),

  check('fork: can be appended to, forked again and deleted', async ({ store }) => {
    await grow(store, await store.acquireWriter('source'), ['old'])
    const writer = await store.acquireWriter('fork')
    const input = { ...source, destinationThreadId: 'fork', destinationCheckpointId: 'root', createdAt: 1, writer }
    await store.forkFromCheckpoint(input)
    await append(store, writer, 'next', 'root')
    const again = await store.acquireWriter('again')
    const { checkpoint: second } = await store.forkFromCheckpoint({
      sourceThreadId: 'fork',
      sourceCheckpointId: 'root',
      destinationThreadId: 'again',
      destinationCheckpointId: 'root 2',
      createdAt: 2,
      writer: again,
    })
    expect(second.parentCheckpointId).toBeNull()
    await store.deleteHead({ threadId: 'fork', checkpointId: 'next', writer })
    await store.deleteHead({ threadId: 'fork', checkpointId: 'root', writer })
    expect(await store.getHead('fork')).toBeNull()
    // Empty again, with its ids free again: as good as new.
    await store.forkFromCheckpoint(input)
    await expectList(store, 'fork', ['root'])
    await expectReferences(store, [[fileKey(1), 3]])
  }),

  check('fork: each check alone refuses, each pair in order, and nothing changes', async ({ store }) => {
    const lease = await store.acquireWriter('source')
    const sourceWriter = { threadId: 'source', ownerToken: lease.ownerToken, fence: lease.fence }
    await grow(store, sourceWriter, ['old', 'head'])
    const other = await store.acquireWriter('other')
    await append(store, other, 'elsewhere', null)
    const { threadId, ownerToken, fence } = await store.acquireWriter('fork')
    const writer = { threadId, ownerToken, fence }
    const full = await store.acquireWriter('full')
    await append(store, full, 'full root', null)
    const released = await store.acquireWriter('released')
    await released.release()

    const valid = { ...source, destinationThreadId: 'fork', destinationCheckpointId: 'root', createdAt: 1, writer }
    const mismatch = 'FORK_SOURCE_THREAD_MISMATCH'
    const taken = 'FORK_DESTINATION_NOT_EMPTY'
    const breakages: Breakage[] = [
      { step: 1, refusal: 'INVALID_ID', what: 'invalid source', fields: { sourceCheckpointId: '' } },
      {
        step: 1,
        refusal: 'INVALID_ID',
        what: 'invalid destination',
        alone: true,
        fields: { destinationCheckpointId: '\ud800' },
      },
      { step: 2, refusal: 'INVALID_ENTRY', what: 'createdAt NaN', fields: { createdAt: Number.NaN } },
      { step: 2, refusal: 'INVALID_ENTRY', what: 'createdAt text', alone: true, fields: { createdAt: wrong('1') } },
      { step: 3, refusal: mismatch, what: 'same thread', fields: { sourceThreadId: 'fork' } },
      { step: 4, refusal: 'FORK_SOURCE_NOT_FOUND', what: 'source unknown', fields: { sourceCheckpointId: 'unknown' } },
      { step: 5, refusal: mismatch, what: "another thread's source", fields: { sourceCheckpointId: 'elsewhere' } },
      { step: 6, refusal: 'WRITER_LOST', what: 'lease of the source', fields: { writer: sourceWriter } },
      { step: 6, refusal: 'WRITER_LOST', what: 'lease of a third thread', alone: true, fields: { writer: other } },
      { step: 7, refusal: 'WRITER_LOST', what: 'wrong token', fields: { writer: { ...writer, ownerToken: 'x' } } },
      {
        step: 7,
        refusal: 'WRITER_LOST',
        what: 'wrong fence',
        alone: true,
        fields: { writer: { ...writer, fence: 9 } },
      },
      { step: 8, refusal: taken, what: 'id used in a third thread', fields: { destinationCheckpointId: 'elsewhere' } },
      { step: 8, refusal: taken, what: 'id of the source', alone: true, fields: { destinationCheckpointId: 'old' } },
    ]
    await expectUnchanged(store, ['source', 'fork', 'other', 'full'], ['root'], async () => {
      for (const first of breakages) {
        await expectRefused(first.refusal, store.forkFromCheckpoint({ ...valid, ...first.fields }), first.what)
        for (const second of breakages.filter(({ step }) => step > first.step)) {
          if (first.alone || second.alone) continue
          const call = store.forkFromCheckpoint({ ...valid, ...second.fields, ...first.fields })
          await expectRefused(first.refusal, call, `${first.what} before ${second.what}`)
        }
      }
      const toFull = { ...valid, destinationThreadId: 'full' }
      await expectRefused(taken, store.forkFromCheckpoint({ ...toFull, writer: full }), 'thread not empty')
      await expectRefused('WRITER_LOST', store.forkFromCheckpoint(toFull), 'writer before thread not empty')
      const missing = { ...toFull, writer: full, sourceCheckpointId: 'unknown' }
      await expectRefused('FORK_SOURCE_NOT_FOUND', store.forkFromCheckpoint(missing), 'source before thread not empty')
      const toSource = { ...valid, destinationThreadId: 'source', writer: sourceWriter }
      await expectRefused(mismatch, store.forkFromCheckpoint(toSource), 'to the source itself')
      const late = { ...valid, destinationThreadId: 'released', writer: released }
      await expectRefused('WRITER_LOST', store.forkFromCheckpoint(late), 'released lease')
    })
  }),

  check('fork: the lease of the destination ends at exactly expiresAt', async ({ store, clock, leaseDurationMs }) => {
    await append(store, await store.acquireWriter('source'), 'old', null)
    const writer = await store.acquireWriter('fork')
    const input = { ...source, destinationThreadId: 'fork', destinationCheckpointId: 'root', createdAt: 1, writer }
    clock.advance(leaseDurationMs)
    await expectRefused('WRITER_LOST', store.forkFromCheckpoint(input))
    expect(await store.getHead('fork')).toBeNull()
    const next = await store.acquireWriter('fork')
    // The source's lease has ended too: a fork needs none there.
    await store.forkFromCheckpoint({ ...input, writer: next })
  }),
]
