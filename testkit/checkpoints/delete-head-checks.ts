import { expect } from 'vitest'
import { expectList, expectReferences, expectRefused, expectUnchanged } from './assertions.ts'
import { check } from './check.ts'
import { append, artifact, artifactKey, checkpoint, file, fileKey, grow } from './fixtures.ts'

export const deleteHeadChecks = [
  check(
    'deleteHead: moves the head to the parent, down to an empty thread, and lowers the counts',
    async ({ store }) => {
      const writer = await store.acquireWriter('t')
      const artifacts = [artifact(1)]
      await append(store, writer, 'a', null, { files: [file('x', 1), file('y', 2)], artifacts })
      await append(store, writer, 'b', 'a', { files: [file('x', 1), file('again', 1), file('y', 3)], artifacts })
      expect(await store.deleteHead({ threadId: 't', checkpointId: 'b', writer })).toBeUndefined()
      expect(await store.getHead('t')).toBe('a')
      expect(await store.get('b')).toBeNull()
      await expectList(store, 't', ['a'])
      await expectReferences(store, [
        [artifactKey(1), 1],
        [fileKey(1), 1],
        [fileKey(2), 1],
      ])
      await store.deleteHead({ threadId: 't', checkpointId: 'a', writer })
      expect(await store.getHead('t')).toBeNull()
      expect(await store.get('a')).toBeNull()
      await expectList(store, 't', [])
      await expectReferences(store, [])
      await append(store, writer, 'c', null)
      expect(await store.getHead('t')).toBe('c')
    },
  ),

  check('deleteHead: only the head can be deleted', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const empty = await store.acquireWriter('empty')
    const other = await store.acquireWriter('other')
    await grow(store, writer, ['a', 'b'])
    await append(store, other, 'x', null)
    await expectUnchanged(store, ['t', 'other'], [], async () => {
      for (const checkpointId of ['a', 'x', 'unknown']) {
        await expectRefused('NOT_HEAD', store.deleteHead({ threadId: 't', checkpointId, writer }), checkpointId)
      }
      const onEmpty = { threadId: 'empty', writer: empty }
      await expectRefused('NOT_HEAD', store.deleteHead({ ...onEmpty, checkpointId: 'unknown' }), 'empty thread')
      await expectRefused('NOT_HEAD', store.deleteHead({ ...onEmpty, checkpointId: 'x' }), "another thread's head")
    })
  }),

  check('deleteHead: checks ids, then the writer, then the head', async ({ store }) => {
    const { threadId, ownerToken, fence } = await store.acquireWriter('t')
    const other = await store.acquireWriter('other')
    await grow(store, { threadId, ownerToken, fence }, ['a', 'b'])
    await append(store, other, 'x', null)
    await expectUnchanged(store, ['t', 'other'], [], async () => {
      for (const lost of [other, { threadId, ownerToken, fence: 9 }, { threadId, ownerToken: 'x', fence }]) {
        const call = { threadId: 't', writer: lost }
        await expectRefused('INVALID_ID', store.deleteHead({ ...call, checkpointId: '' }), 'id before writer')
        await expectRefused('WRITER_LOST', store.deleteHead({ ...call, checkpointId: 'b' }), 'writer')
        await expectRefused('WRITER_LOST', store.deleteHead({ ...call, checkpointId: 'unknown' }), 'writer before head')
      }
      const others = store.deleteHead({ threadId: 't', checkpointId: 'x', writer: other })
      await expectRefused('WRITER_LOST', others, "the writer's own head, of another thread")
      const current = { threadId: 't', writer: { threadId, ownerToken, fence } }
      await expectRefused('INVALID_ID', store.deleteHead({ ...current, checkpointId: '\ud800' }), 'id before head')
    })
  }),

  check('deleteHead: a deleted id may be used again, here and in another thread', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const other = await store.acquireWriter('other')
    await grow(store, writer, ['a', 'b'])
    await store.deleteHead({ threadId: 't', checkpointId: 'b', writer })
    await append(store, writer, 'b', 'a', { label: 'second', files: [file('f', 9)] })
    expect(await store.get('b')).toEqual(checkpoint('t', 'b', 'a', { label: 'second', files: [file('f', 9)] }))
    await store.deleteHead({ threadId: 't', checkpointId: 'b', writer })
    await append(store, other, 'b', null, { label: 'third' })
    expect(await store.get('b')).toEqual(checkpoint('other', 'b', null, { label: 'third' }))
    await expectList(store, 't', ['a'])
    await expectList(store, 'other', ['b'])
    expect([await store.getHead('t'), await store.getHead('other')]).toEqual(['a', 'b'])
    const again = store.append({ checkpoint: checkpoint('t', 'b', 'a'), expectedHeadId: 'a', writer })
    await expectRefused('DUPLICATE_ID', again, 'used again elsewhere')
  }),

  check('deleteHead: of many at once, one wins', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    await grow(store, writer, ['a', 'b'])
    const call = { threadId: 't', checkpointId: 'b', writer }
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => store.deleteHead(call)))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') await expectRefused('NOT_HEAD', Promise.reject(outcome.reason))
    }
    expect(await store.getHead('t')).toBe('a')
  }),
]
