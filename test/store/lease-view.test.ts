import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import type { SandboxCheckpoint } from '../../src/checkpoints/types.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { type Engines, startEngines } from '../support/engines.ts'

/** What a lease saw of its thread saves a read, and is never taken for the truth. */
describe('what a lease saw of its thread', () => {
  let engines: Engines
  let scope: Scope
  let now: number
  const sent: string[] = []
  const open = () =>
    createCheckpointStore({ ...engines, scope, now: () => now, leaseDurationMs: 1_000, renewAfterMs: 500 })

  beforeAll(async () => {
    engines = await startEngines()
    engines.dynamodb.middlewareStack.add(
      (next, context) => (args) => {
        sent.push(String(context.commandName))
        return next(args)
      },
      { step: 'initialize' },
    )
  })
  afterAll(() => engines.stop())
  beforeEach(() => {
    scope = engines.freshScope()
    now = 1_000_000
  })

  test('saves the read before each append', async () => {
    const store = open()
    const lease = await store.acquireWriter('thread')
    sent.length = 0
    await store.append({ checkpoint: checkpoint('a', null), expectedHeadId: null, writer: lease })
    await store.append({ checkpoint: checkpoint('b', 'a'), expectedHeadId: 'a', writer: lease })
    expect(sent).toEqual(['TransactWriteItemsCommand', 'TransactWriteItemsCommand'])
    expect(await ids(store)).toEqual(['a', 'b'])
  })

  test('gives way to what another store wrote under the same lease', async () => {
    const store = open()
    const lease = await store.acquireWriter('thread')
    const other = { ...lease }
    await open().append({ checkpoint: checkpoint('a', null), expectedHeadId: null, writer: other })
    await store.append({ checkpoint: checkpoint('b', 'a'), expectedHeadId: 'a', writer: lease })
    expect(await ids(store)).toEqual(['a', 'b'])
  })

  test('is refused by the thread when the head is the same again but the thread is not', async () => {
    const store = open()
    const lease = await store.acquireWriter('thread')
    const other = { ...lease }
    await open().append({ checkpoint: checkpoint('a', null), expectedHeadId: null, writer: other })
    await open().deleteHead({ threadId: 'thread', checkpointId: 'a', writer: other })
    await store.append({ checkpoint: checkpoint('a', null), expectedHeadId: null, writer: lease })
    await store.append({ checkpoint: checkpoint('b', 'a'), expectedHeadId: 'a', writer: lease })
    expect(await ids(store)).toEqual(['a', 'b'])
  })

  test('does not end a lease that was renewed elsewhere', async () => {
    const store = open()
    const lease = await store.acquireWriter('thread')
    now += 900
    await open().renewWriter({ ...lease })
    now += 900
    await store.append({ checkpoint: checkpoint('a', null), expectedHeadId: null, writer: lease })
    expect(await ids(store)).toEqual(['a'])
  })

  test('does not revive a lease that another took', async () => {
    const store = open()
    const lease = await store.acquireWriter('thread')
    await open().releaseWriter({ ...lease })
    await open().acquireWriter('thread')
    const late = store.append({ checkpoint: checkpoint('a', null), expectedHeadId: null, writer: lease })
    await expect(late).rejects.toMatchObject({ code: 'SANDBOX_SNAPSHOT_WRITER_LOST' })
    expect(await ids(store)).toEqual([])
  })

  test('is of its own thread only', async () => {
    const store = open()
    const lease = await store.acquireWriter('thread', { ownerToken: 'owner' })
    const second = await store.acquireWriter('second', { ownerToken: 'owner' })
    const writer = Object.assign(lease, { threadId: 'second' })
    await store.append({ checkpoint: { ...checkpoint('a', null), threadId: 'second' }, expectedHeadId: null, writer })
    await store.append({
      checkpoint: { ...checkpoint('b', 'a'), threadId: 'second' },
      expectedHeadId: 'a',
      writer: second,
    })
    expect(await store.getHead('second')).toBe('b')
    expect(await ids(store)).toEqual([])
  })
})

async function ids(store: ReturnType<typeof createCheckpointStore>): Promise<string[]> {
  return (await store.list('thread')).map(({ id }) => id)
}

function checkpoint(id: string, parent: string | null): SandboxCheckpoint {
  return {
    id,
    threadId: 'thread',
    parentCheckpointId: parent,
    createdAt: 1,
    reason: 'automatic',
    files: [],
    conversation: [],
    artifacts: [],
  }
}
