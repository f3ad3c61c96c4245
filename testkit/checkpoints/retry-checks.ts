import { expect } from 'vitest'
import { expectReferences, expectRefused } from './assertions.ts'
import { check } from './check.ts'
import { append, checkpoint, file, fileKey, grow } from './fixtures.ts'

/** A repeat of a write whose answer was lost, told by its token. */
export const retryChecks = [
  check('retries: append again with the same request token is answered as the first was', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const input = { checkpoint: checkpoint('t', 'a', null, { files: [file('x')] }), expectedHeadId: null, writer }
    await store.append({ ...input, requestToken: 'request-1' })
    expect(await store.append({ ...input, requestToken: 'request-1' })).toEqual({ headId: 'a' })
    await expectReferences(store, [[fileKey(1), 1]])
    await expectRefused('DUPLICATE_ID', store.append({ ...input, requestToken: 'request-2' }), 'another token')
    await expectRefused('DUPLICATE_ID', store.append(input), 'no token')
  }),

  check('retries: deleteHead again with the same request token deletes no second checkpoint', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    await grow(store, writer, ['a', 'b'])
    const input = { threadId: 't', checkpointId: 'b', writer, requestToken: 'request-1' }
    await store.deleteHead(input)
    expect(await store.deleteHead(input)).toBeUndefined()
    expect(await store.getHead('t')).toBe('a')
    await expectRefused('NOT_HEAD', store.deleteHead({ ...input, requestToken: 'request-2' }), 'another token')
  }),

  check(
    'retries: forkFromCheckpoint again with the same request token is answered as the first was',
    async ({ store }) => {
      await append(store, await store.acquireWriter('source'), 'a', null)
      const writer = await store.acquireWriter('fork')
      const input = {
        sourceThreadId: 'source',
        sourceCheckpointId: 'a',
        destinationThreadId: 'fork',
        destinationCheckpointId: 'root',
        createdAt: 1,
        writer,
        requestToken: 'request-1',
      }
      const answer = await store.forkFromCheckpoint(input)
      expect(await store.forkFromCheckpoint(input)).toEqual(answer)
      const another = store.forkFromCheckpoint({ ...input, requestToken: 'request-2' })
      await expectRefused('FORK_DESTINATION_NOT_EMPTY', another, 'another token')
    },
  ),

  check('retries: acquireWriter again with the same owner token gives the lease that is held', async ({ store }) => {
    const first = await store.acquireWriter('t', { ownerToken: 'owner-1' })
    const { ownerToken, fence } = await store.acquireWriter('t', { ownerToken: 'owner-1' })
    expect({ ownerToken, fence }).toEqual({ ownerToken: 'owner-1', fence: first.fence })
    await expectRefused('WRITER_CONFLICT', store.acquireWriter('t', { ownerToken: 'owner-2' }))
    await append(store, first, 'a', null)
  }),
]
