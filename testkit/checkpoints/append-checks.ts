import { expect } from 'vitest'
import type { SandboxCheckpointAppendInput, SandboxCheckpointWriterLease } from '../../src/checkpoints/types.ts'
import { expectList, expectReferences, expectRefused, expectUnchanged, type Refusal } from './assertions.ts'
import { check } from './check.ts'
import { append, checkpoint, file, fileKey, fullCheckpoint, grow, wrong } from './fixtures.ts'

/** A way to break one check of append: what it does to a valid input. */
interface Breakage {
  step: number
  refusal: Refusal
  what: string
  apply(input: SandboxCheckpointAppendInput): SandboxCheckpointAppendInput
}

function breakages(other: SandboxCheckpointWriterLease): Breakage[] {
  const inCheckpoint =
    (fields: object): Breakage['apply'] =>
    (input) => ({ ...input, checkpoint: { ...input.checkpoint, ...fields } })
  const inWriter =
    (fields: object): Breakage['apply'] =>
    (input) => ({ ...input, writer: { ...input.writer, ...fields } })
  const entry = { step: 2, refusal: 'INVALID_ENTRY' } as const
  const writer = { step: 3, refusal: 'WRITER_LOST' } as const
  const duplicate = { step: 4, refusal: 'DUPLICATE_ID' } as const
  // A later one of these is applied first, so that an invalid parent id wins over a wrong one.
  return [
    { step: 1, refusal: 'INVALID_ID', what: 'invalid id', apply: inCheckpoint({ parentCheckpointId: '' }) },
    { ...entry, what: 'bad files', apply: inCheckpoint({ files: [{ path: '/', kind: 'dir' }] }) },
    { ...entry, what: 'bad artifacts', apply: inCheckpoint({ artifacts: [{}] }) },
    { ...entry, what: 'bad createdAt', apply: inCheckpoint({ createdAt: Number.NaN }) },
    { ...writer, what: "another thread's lease", apply: (input) => ({ ...input, writer: other }) },
    { ...writer, what: 'wrong token', apply: inWriter({ ownerToken: other.ownerToken }) },
    { ...writer, what: 'wrong fence', apply: inWriter({ fence: 99 }) },
    { ...duplicate, what: 'id of this thread', apply: inCheckpoint({ id: 'head' }) },
    { ...duplicate, what: 'id of another thread', apply: inCheckpoint({ id: 'elsewhere' }) },
    { step: 5, refusal: 'STALE_HEAD', what: 'stale head', apply: (input) => ({ ...input, expectedHeadId: 'root' }) },
    { step: 6, refusal: 'PARENT_MISMATCH', what: 'wrong parent', apply: inCheckpoint({ parentCheckpointId: 'root' }) },
  ]
}

export const appendChecks = [
  check('append: makes each checkpoint the head of its thread, and returns its id', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const root = fullCheckpoint('t', 'root', null)
    const child = fullCheckpoint('t', 'child', 'root')
    expect(await store.append({ checkpoint: root, expectedHeadId: null, writer })).toEqual({ headId: 'root' })
    expect(await store.getHead('t')).toBe('root')
    expect(await store.append({ checkpoint: child, expectedHeadId: 'root', writer })).toEqual({ headId: 'child' })
    expect(await store.getHead('t')).toBe('child')
    expect(await store.get('root')).toEqual(root)
    expect(await store.get('child')).toEqual(child)
  }),

  check('append: each check alone refuses, and changes nothing', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const other = await store.acquireWriter('other')
    await grow(store, writer, ['root', 'head'])
    await append(store, other, 'elsewhere', null)
    const valid = { checkpoint: checkpoint('t', 'new', 'head'), expectedHeadId: 'head', writer: { ...writer } }
    await expectUnchanged(store, ['t', 'other'], ['new'], async () => {
      for (const { refusal, what, apply } of breakages(other)) {
        await expectRefused(refusal, store.append(apply(valid)), what)
      }
      // An empty thread has no head but null, and a thread with a head never null.
      await expectRefused(
        'STALE_HEAD',
        store.append({ ...valid, expectedHeadId: null }),
        'null for a thread with a head',
      )
      const first = { checkpoint: checkpoint('new thread', 'new', 'head'), expectedHeadId: 'head' }
      const opened = await store.acquireWriter('new thread')
      await expectRefused('STALE_HEAD', store.append({ ...first, writer: opened }), 'a head for an empty thread')
    })
    await store.append(valid)
  }),

  check('append: checks ids, then entries, the writer, the id, the head and the parent', async ({ store }) => {
    const { fence, ownerToken, threadId } = await store.acquireWriter('t')
    const writer = { threadId, ownerToken, fence }
    const other = await store.acquireWriter('other')
    await grow(store, writer, ['root', 'head'])
    await append(store, other, 'elsewhere', null)
    const valid = { checkpoint: checkpoint('t', 'new', 'head'), expectedHeadId: 'head', writer }
    const all = breakages(other)
    await expectUnchanged(store, ['t', 'other'], ['new'], async () => {
      for (const first of all) {
        for (const second of all.filter(({ step }) => step > first.step)) {
          const call = store.append(first.apply(second.apply(valid)))
          await expectRefused(first.refusal, call, `${first.what} before ${second.what}`)
        }
      }
    })
  }),

  check('append: a missing parent is null', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const { parentCheckpointId, ...fields } = checkpoint('t', 'a', null)
    await store.append({ checkpoint: wrong(fields), expectedHeadId: null, writer })
    expect(await store.get('a')).toHaveProperty('parentCheckpointId', parentCheckpointId)
    const next = wrong<typeof fields & { parentCheckpointId: null }>({ ...fields, id: 'b' })
    await expectRefused('PARENT_MISMATCH', store.append({ checkpoint: next, expectedHeadId: 'a', writer }))
  }),

  check('append: threads keep their own heads and lists', async ({ store }) => {
    const one = await store.acquireWriter('one')
    const two = await store.acquireWriter('two')
    await grow(store, one, ['a1', 'a2'])
    await grow(store, two, ['b1'])
    await append(store, one, 'a3', 'a2')
    expect([await store.getHead('one'), await store.getHead('two')]).toEqual(['a3', 'b1'])
    await expectList(store, 'two', ['b1'])
    await expectReferences(store, [
      [fileKey(1), 2],
      [fileKey(2), 1],
    ])
  }),

  check('append: what the caller changes afterwards does not change the store', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const original = fullCheckpoint('t', 'a', null)
    const given = structuredClone(original)
    await store.append({ checkpoint: given, expectedHeadId: null, writer })
    spoil(given)
    const got = await store.get('a')
    expect(got).toEqual(original)
    spoil(got)
    const [listed] = await store.list('t')
    expect(listed).toEqual(original)
    spoil(listed)
    const [reference] = await store.listBlobReferences()
    if (reference !== undefined) reference.references = 9
    expect(await store.get('a')).toEqual(original)
    expect(await store.list('t')).toEqual([original])
    expect((await store.listBlobReferences())[0]?.references).toBe(1)
  }),

  check('append: what the caller changes while the call runs does not change the store', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    const given = fullCheckpoint('t', 'a', null)
    const appended = store.append({ checkpoint: given, expectedHeadId: null, writer })
    spoil(given)
    await appended
    expect(await store.get('a')).toEqual(fullCheckpoint('t', 'a', null))
  }),

  check('append: of many at once on one head, one wins', async ({ store }) => {
    const writer = await store.acquireWriter('t')
    await append(store, writer, 'root', null)
    const ids = ['a', 'b', 'c', 'd']
    const fields = { files: [file('f')] }
    const outcomes = await Promise.allSettled(ids.map((id) => append(store, writer, id, 'root', fields)))
    const winners = ids.filter((_, index) => outcomes[index]?.status === 'fulfilled')
    expect(winners).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') await expectRefused('STALE_HEAD', Promise.reject(outcome.reason))
    }
    expect(await store.getHead('t')).toBe(winners[0])
    await expectReferences(store, [[fileKey(1), 1]])
  }),
]

/** Changes the value at every depth. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const inner of Object.values(value)) spoil(inner)
  Object.assign(value, { id: 'spoiled', path: 'spoiled', blobKey: fileKey(99), size: -1, content: 'spoiled' })
  if (Array.isArray(value)) value.length = 0
}
