import { expect } from 'vitest'
import type { SandboxCheckpointForkInput } from '../../src/checkpoints/types.ts'
import { expectList, expectRefused, expectUnchanged } from './assertions.ts'
import { check } from './check.ts'
import { append, checkpoint, wrong } from './fixtures.ts'

const invalidIds = ['', '\ud800x', 'x\udc00', undefined].map((id) => wrong<string>(id))

// Each pair differs only in what a careless key or comparison loses: separators, escapes, case, normal form, the tail.
const unusualIds = [
  ...[
    'A',
    'a',
    'b',
    'a ',
    'c',
    'a#b',
    'a/b',
    'a%2Fb',
    'a:1:b',
    'a\0b',
    'a\nb',
    'é',
    '😀',
    'e\u0301',
    'null',
    '__proto__',
  ],
  ...[1, 2, 3, 4].map((n) => `${'x'.repeat(3_000)}${n}`),
]

export const idChecks = [
  check(
    'ids: each id argument of a read or of acquireWriter must be a non-empty well-formed string',
    async ({ store }) => {
      for (const id of invalidIds) {
        await expectRefused('INVALID_ID', store.get(id), `get(${JSON.stringify(id)})`)
        await expectRefused('INVALID_ID', store.list(id), `list(${JSON.stringify(id)})`)
        await expectRefused('INVALID_ID', store.getHead(id), `getHead(${JSON.stringify(id)})`)
        await expectRefused('INVALID_ID', store.acquireWriter(id), `acquireWriter(${JSON.stringify(id)})`)
      }
    },
  ),

  check('ids: each id of append must be valid', async ({ store }) => {
    const writer = { ...(await store.acquireWriter('t')) }
    const valid = { checkpoint: checkpoint('t', 'a', null), expectedHeadId: null, writer }
    await expectUnchanged(store, ['t'], ['a'], async () => {
      for (const id of invalidIds) {
        const inputs = {
          'checkpoint.threadId': { ...valid, checkpoint: { ...valid.checkpoint, threadId: id } },
          'writer.threadId': { ...valid, writer: { ...writer, threadId: id } },
          'checkpoint.id': { ...valid, checkpoint: { ...valid.checkpoint, id } },
          expectedHeadId: { ...valid, expectedHeadId: id },
          // A missing parent counts as null.
          ...(id !== undefined && {
            parent: { ...valid, checkpoint: { ...valid.checkpoint, parentCheckpointId: id } },
          }),
        }
        for (const [field, input] of Object.entries(inputs)) {
          await expectRefused('INVALID_ID', store.append(input), `${field} ${JSON.stringify(id)}`)
        }
      }
    })
  }),

  check('ids: each id of deleteHead and deleteCheckpoints must be valid', async ({ store }) => {
    const writer = { ...(await store.acquireWriter('t')) }
    await append(store, writer, 'a', null)
    await expectUnchanged(store, ['t'], ['a'], async () => {
      for (const id of invalidIds) {
        const lost = { ...writer, threadId: id }
        const what = JSON.stringify(id)
        const head = { threadId: 't', checkpointId: 'a', writer }
        await expectRefused('INVALID_ID', store.deleteHead({ ...head, threadId: id }), `threadId ${what}`)
        await expectRefused('INVALID_ID', store.deleteHead({ ...head, checkpointId: id }), `checkpointId ${what}`)
        await expectRefused('INVALID_ID', store.deleteHead({ ...head, writer: lost }), `writer.threadId ${what}`)
        const prune = { threadId: 't', keep: 1, writer }
        await expectRefused('INVALID_ID', store.deleteCheckpoints({ ...prune, threadId: id }), `prune threadId ${what}`)
        await expectRefused('INVALID_ID', store.deleteCheckpoints({ ...prune, writer: lost }), `prune writer ${what}`)
      }
    })
  }),

  check('ids: each id of forkFromCheckpoint must be valid', async ({ store }) => {
    await append(store, await store.acquireWriter('source'), 'a', null)
    const writer = { ...(await store.acquireWriter('fork')) }
    const valid: SandboxCheckpointForkInput = {
      sourceThreadId: 'source',
      sourceCheckpointId: 'a',
      destinationThreadId: 'fork',
      destinationCheckpointId: 'b',
      createdAt: 1,
      writer,
    }
    const fields = ['sourceThreadId', 'sourceCheckpointId', 'destinationThreadId', 'destinationCheckpointId'] as const
    await expectUnchanged(store, ['source', 'fork'], ['a', 'b'], async () => {
      for (const id of invalidIds) {
        for (const field of fields) {
          const call = store.forkFromCheckpoint({ ...valid, [field]: id })
          await expectRefused('INVALID_ID', call, `${field} ${JSON.stringify(id)}`)
        }
        const call = store.forkFromCheckpoint({ ...valid, writer: { ...writer, threadId: id } })
        await expectRefused('INVALID_ID', call, `writer.threadId ${JSON.stringify(id)}`)
      }
    })
  }),

  check('ids: any other string is a checkpoint id, kept apart from those like it', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    let parent: string | null = null
    for (const [index, id] of unusualIds.entries()) {
      expect(await store.get(id), `${id.slice(-9)} before it is appended`).toBeNull()
      await append(store, writer, id, parent, { createdAt: index })
      parent = id
    }
    await expectList(store, 't', unusualIds)
    expect(await store.get(unusualIds[0] ?? '')).toEqual(checkpoint('t', 'A', null, { createdAt: 0 }))
    expect(await store.getHead('t')).toBe(parent)
  }),

  check('ids: any other string is a thread id, kept apart from those like it', async ({ store }) => {
    const threadIds = unusualIds.filter((_, index) => index % 2 === 1)
    for (const [index, threadId] of threadIds.entries()) {
      const writer = await store.acquireWriter(threadId)
      expect({ threadId: writer.threadId, fence: writer.fence }).toEqual({ threadId, fence: 1 })
      await append(store, writer, `c${index}`, null)
    }
    for (const [index, threadId] of threadIds.entries()) await expectList(store, threadId, [`c${index}`])
  }),
]
