import { expect } from 'vitest'
import { expectList, expectReferences, expectRefused, expectUnchanged } from './assertions.ts'
import { check } from './check.ts'
import { append, artifact, artifactKey, checkpoint, file, fileKey, grow, wrong } from './fixtures.ts'

export const pruneChecks = [
  check(
    'deleteCheckpoints: keeps the head and the newest before it, and tells what it deleted, oldest first',
    async ({ store }) => {
      const writer = await store.acquireWriter('t')
      await grow(store, writer, ['e', 'd', 'c', 'b', 'a'])
      const kept = await store.get('b')
      expect(await store.deleteCheckpoints({ threadId: 't', keep: 2, writer })).toEqual({ deleted: ['e', 'd', 'c'] })
      expect(await store.getHead('t')).toBe('a')
      await expectList(store, 't', ['b', 'a'])
      for (const id of ['e', 'd', 'c']) expect(await store.get(id), id).toBeNull()
      // Checkpoints never change: the parent id stays though the parent is gone.
      expect(await store.get('b')).toEqual(kept)
      expect(kept?.parentCheckpointId).toBe('c')
      await expectReferences(store, [
        [fileKey(4), 1],
        [fileKey(5), 1],
      ])
    },
  ),

  check('deleteCheckpoints: newest is by the chain, not by createdAt or id', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    await append(store, writer, 'b', null, { createdAt: 30 })
    await append(store, writer, 'c', 'b', { createdAt: 20 })
    await append(store, writer, 'a', 'c', { createdAt: 10 })
    expect(await store.deleteCheckpoints({ threadId: 't', keep: 1, writer })).toEqual({ deleted: ['b', 'c'] })
    await expectList(store, 't', ['a'])
  }),

  check('deleteCheckpoints: counts follow, exactly', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const other = await store.acquireWriter('other')
    const fields = { files: [file('x', 1), file('y', 2), file('again', 2)], artifacts: [artifact(1)] }
    await append(store, writer, 'a', null, fields)
    await append(store, writer, 'b', 'a', { files: [file('x', 1)], artifacts: [artifact(2)] })
    await append(store, writer, 'c', 'b', { files: [file('x', 1)] })
    await append(store, other, 'd', null, { files: [file('y', 2)] })
    await store.deleteCheckpoints({ threadId: 't', keep: 2, writer })
    await expectReferences(store, [
      [artifactKey(2), 1],
      [fileKey(1), 2],
      [fileKey(2), 1],
    ])
    await store.deleteCheckpoints({ threadId: 't', keep: 1, writer })
    await expectReferences(store, [
      [fileKey(1), 1],
      [fileKey(2), 1],
    ])
    await expectList(store, 'other', ['d'])
  }),

  check('deleteCheckpoints: deletes nothing when there is no more than it keeps', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const empty = await store.acquireWriter('empty')
    await grow(store, writer, ['a', 'b'])
    await expectUnchanged(store, ['t', 'empty'], ['a'], async () => {
      for (const keep of [2, 3, Number.MAX_SAFE_INTEGER]) {
        expect(await store.deleteCheckpoints({ threadId: 't', keep, writer })).toEqual({ deleted: [] })
      }
      expect(await store.deleteCheckpoints({ threadId: 'empty', keep: 1, writer: empty })).toEqual({ deleted: [] })
    })
  }),

  check('deleteCheckpoints: keep must be an integer of at least 1', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    await grow(store, writer, ['a', 'b'])
    await expectUnchanged(store, ['t'], ['a'], async () => {
      for (const keep of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined]) {
        const call = store.deleteCheckpoints({ threadId: 't', keep: wrong(keep), writer })
        await expectRefused('INVALID_ENTRY', call, `keep ${String(keep)}`)
      }
    })
  }),

  check('deleteCheckpoints: checks ids, then keep, then the writer', async ({ store }) => {
    const { threadId, ownerToken, fence } = await store.acquireWriter('t')
    const writer = { threadId, ownerToken, fence }
    const other = await store.acquireWriter('other')
    await grow(store, writer, ['a', 'b'])
    await expectUnchanged(store, ['t'], ['a'], async () => {
      await expectRefused('INVALID_ID', store.deleteCheckpoints({ threadId: '', keep: 0, writer }), 'id before keep')
      for (const lost of [other, { ...writer, ownerToken: 'x' }, { ...writer, fence: 9 }]) {
        const call = { threadId: 't', writer: lost }
        await expectRefused('INVALID_ENTRY', store.deleteCheckpoints({ ...call, keep: 0 }), 'keep before writer')
        await expectRefused('WRITER_LOST', store.deleteCheckpoints({ ...call, keep: 1 }), 'writer')
        const invalid = { ...call, threadId: '\udc00' }
        await expectRefused('INVALID_ID', store.deleteCheckpoints({ ...invalid, keep: 1 }), 'id before writer')
      }
      const nobody = { threadId: 'unknown', writer: { ...writer, threadId: 'unknown' } }
      await expectRefused('WRITER_LOST', store.deleteCheckpoints({ ...nobody, keep: 1 }), 'never leased')
      await expectRefused('INVALID_ENTRY', store.deleteCheckpoints({ ...nobody, keep: 0 }), 'never leased, bad keep')
    })
  }),

  check(
    'deleteCheckpoints: deleteHead goes down to the oldest that was kept, then the thread is empty',
    async ({ store }) => {
      const writer = await store.acquireWriter('t')
      await grow(store, writer, ['a', 'b', 'c'])
      await store.deleteCheckpoints({ threadId: 't', keep: 2, writer })
      await store.deleteHead({ threadId: 't', checkpointId: 'c', writer })
      expect(await store.getHead('t')).toBe('b')
      await store.deleteHead({ threadId: 't', checkpointId: 'b', writer })
      expect(await store.getHead('t')).toBeNull()
      await expectList(store, 't', [])
      await expectReferences(store, [])
      const onPruned = store.append({ checkpoint: checkpoint('t', 'd', 'a'), expectedHeadId: 'a', writer })
      await expectRefused('STALE_HEAD', onPruned, 'append to a pruned parent')
      await append(store, writer, 'd', null)
      expect(await store.getHead('t')).toBe('d')
    },
  ),

  check(
    'deleteCheckpoints: a deleted id may be used again, and is never taken for the parent it was',
    async ({ store }) => {
      const writer = await store.acquireWriter('t')
      const other = await store.acquireWriter('other')
      await grow(store, writer, ['a', 'b', 'c'])
      await store.deleteCheckpoints({ threadId: 't', keep: 1, writer })
      await append(store, other, 'a', null, { label: 'elsewhere' })
      await append(store, writer, 'b', 'c', { label: 'on its own child' })
      expect((await store.get('a'))?.threadId).toBe('other')
      expect((await store.list('t')).map(({ id, parentCheckpointId }) => [id, parentCheckpointId])).toEqual([
        ['c', 'b'],
        ['b', 'c'],
      ])
      expect(await store.deleteCheckpoints({ threadId: 't', keep: 9, writer })).toEqual({ deleted: [] })
      await store.deleteHead({ threadId: 't', checkpointId: 'b', writer })
      expect(await store.getHead('t')).toBe('c')
      await append(store, other, 'b', 'a')
      await store.deleteHead({ threadId: 't', checkpointId: 'c', writer })
      expect(await store.getHead('t')).toBeNull()
      await expectList(store, 'other', ['a', 'b'])
    },
  ),

  check('deleteCheckpoints: can be repeated while the thread grows', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    await grow(store, writer, ['a', 'b', 'c'])
    expect(await store.deleteCheckpoints({ threadId: 't', keep: 2, writer })).toEqual({ deleted: ['a'] })
    await append(store, writer, 'd', 'c')
    await append(store, writer, 'a', 'd')
    expect(await store.deleteCheckpoints({ threadId: 't', keep: 2, writer })).toEqual({ deleted: ['b', 'c'] })
    expect(await store.deleteCheckpoints({ threadId: 't', keep: 1, writer })).toEqual({ deleted: ['d'] })
    expect(await store.get('a')).toEqual(checkpoint('t', 'a', 'd'))
    expect(await store.getHead('t')).toBe('a')
  }),
]
