import { afterAll, describe, expect, test } from 'vitest'
import type { CreateSandboxInput, SourceInput } from '../../src/sandboxes/types.ts'
import { outcome } from '../store/support/stores.ts'
import { startEngines } from '../support/engines.ts'
import { countRequests } from './support/requests.ts'
import { anyone, sandboxWorld } from './support/world.ts'

const engines = await startEngines()
afterAll(engines.stop)

const range = (count: number) => Array.from({ length: count }, (_, index) => index)

describe('the workspace key is', () => {
  test.for<[string, Partial<CreateSandboxInput>, string | null]>([
    ['the task id', { taskId: 'a', labels: { task_id: 'b' } }, 'a'],
    ['the label task_id', { labels: { task_id: 'b', ctp_task_id: 'c', workspace_key: 'd' } }, 'b'],
    ['the label ctp_task_id', { labels: { ctp_task_id: 'c', workspace_key: 'd' } }, 'c'],
    ['the label workspace_key', { labels: { other: 'x', workspace_key: 'd' } }, 'd'],
    ['the first that is not empty', { taskId: '', labels: { task_id: '', ctp_task_id: 'c' } }, 'c'],
    ['none without any of them', { labels: { other: 'x' } }, null],
    ['none when all are empty', { taskId: '', labels: { task_id: '', workspace_key: '' } }, null],
  ])('%s', async ([, input, expected]) => {
    const { create } = sandboxWorld(engines)
    const sandbox = await create(input)
    expect(sandbox.workspaceKey).toBe(expected)
    expect(sandbox.taskId).toBe(input.taskId === 'a' ? 'a' : null)
    expect(sandbox.labels).toEqual(input.labels)
  })

  test.for<[string, Partial<CreateSandboxInput>]>([
    ['task_id', { taskId: '-a' }],
    ['task_id', { taskId: 'a'.repeat(129) }],
    ['labels.task_id', { labels: { task_id: 'a b' } }],
    ['labels.ctp_task_id', { taskId: '', labels: { task_id: '', ctp_task_id: 'a/b' } }],
    ['labels.workspace_key', { labels: { workspace_key: 'ä' } }],
  ])('refused in %s when it has not the form of a task id', async ([field, input]) => {
    const { create } = sandboxWorld(engines)
    await expect(create(input)).rejects.toMatchObject({ code: 'invalid_input', field })
  })
})

describe('a source', () => {
  test('of another task gives its latest snapshot, without making the sandbox belong to it', async () => {
    const { create, save } = sandboxWorld(engines)
    const other = await create({ taskId: 'other' })
    await save(other.sandboxId, 'x')
    for (const taskId of ['mine', undefined]) {
      const sandbox = await create({ taskId, source: { type: 'workspace_latest', workspaceKey: 'other' } })
      expect(sandbox).toMatchObject({
        workspaceKey: taskId ?? null,
        source: { type: 'workspace_latest', workspaceKey: 'other', sandboxId: other.sandboxId, snapshotSeq: 1 },
        restore: { sandboxId: other.sandboxId, snapshotSeq: 1 },
      })
    }
  })

  test.for(['workspace_latest', 'snapshot'] as const)('of type %s may name one snapshot exactly', async (type) => {
    const { create, save } = sandboxWorld(engines)
    const withKey = await create({ taskId: 'other' })
    const without = await create()
    for (const { sandboxId } of [withKey, withKey, without, without]) await save(sandboxId, 'x')
    const { sandboxId } = withKey
    for (const workspaceKey of ['other', undefined]) {
      const sandbox = await create({ source: { type, sandboxId, snapshotSeq: 1, workspaceKey } })
      expect(sandbox.source).toEqual({ type, workspaceKey: 'other', sandboxId, snapshotSeq: 1 })
    }
    const other = await create({ source: { type, sandboxId: without.sandboxId, snapshotSeq: 1 } })
    expect(other.source).toEqual({ type, workspaceKey: null, sandboxId: without.sandboxId, snapshotSeq: 1 })
  })

  test('that names a snapshot which is not there, or not of the key, is not found and leaves no sandbox', async () => {
    const { create, save, store } = sandboxWorld(engines)
    const { sandboxId } = await create({ taskId: 'other' })
    const alone = await create()
    for (const id of [sandboxId, alone.sandboxId]) await save(id, 'x')
    const type = 'snapshot'
    const wrong: SourceInput[] = [
      { type, sandboxId, snapshotSeq: 2 },
      { type, sandboxId: 'no-id', snapshotSeq: 1 },
      { type, sandboxId: '00000000-0000-0000-0000-000000000000', snapshotSeq: 1 },
      { type, sandboxId, snapshotSeq: 1, workspaceKey: 'another' },
      { type, sandboxId: alone.sandboxId, snapshotSeq: 1, workspaceKey: 'other' },
    ]
    for (const source of wrong) {
      // Its own task has nothing to do with it.
      expect(await outcome(create({ taskId: 'other', source })), JSON.stringify(source)).toBe('not_found')
    }
    expect((await store.list({ limit: 10 })).sandboxes).toHaveLength(2)
    expect((await create({ taskId: 'mine', source: { type, sandboxId, snapshotSeq: 1 } })).restore).not.toBeNull()
  })

  test.for<[string, SourceInput]>([
    ['source.workspace_key', { type: 'workspace_latest' }],
    ['source.workspace_key', { type: 'workspace_latest', workspaceKey: '' }],
    ['source.workspace_key', { type: 'workspace_latest', workspaceKey: '/' }],
    ['source.sandbox_id', { type: 'snapshot' }],
    ['source.sandbox_id', { type: 'snapshot', workspaceKey: 'other' }],
    ['source.sandbox_id', { type: 'workspace_latest', snapshotSeq: 1 }],
    ['source.snapshot_seq', { type: 'workspace_latest', sandboxId: 'x' }],
    ['source.snapshot_seq', { type: 'snapshot', sandboxId: 'x' }],
  ])('is refused for %s in %j', async ([field, source]) => {
    const { create } = sandboxWorld(engines)
    await expect(create({ source })).rejects.toMatchObject({ code: 'invalid_input', field })
  })

  test('that was given goes before restore_latest', async () => {
    const { create, save } = sandboxWorld(engines)
    const { sandboxId } = await create({ taskId: 't' })
    for (const text of ['one', 'two']) await save(sandboxId, text)
    const source = { type: 'snapshot', sandboxId, snapshotSeq: 1 } as const
    const sandbox = await create({ taskId: 't', source, restoreLatest: true })
    expect(sandbox.restore).toEqual({ sandboxId, snapshotSeq: 1 })
  })
})

describe('without a source', () => {
  test('a sandbox begins empty, with restore_latest too while there is no snapshot or no key', async () => {
    const { create, save } = sandboxWorld(engines)
    const inputs = [{ taskId: 't' }, { taskId: 't', restoreLatest: true }, { restoreLatest: true }, {}]
    for (const input of inputs) expect(await create(input)).toMatchObject({ source: null, restore: null })
    const { sandboxId } = await create({ taskId: 't' })
    await save(sandboxId, 'x')
    for (const input of [{ taskId: 't' }, { taskId: 't', restoreLatest: false }]) {
      expect(await create(input)).toMatchObject({ source: null, restore: null })
    }
  })

  test('restore_latest begins from the latest snapshot, and names it as the source', async () => {
    const { create, save, store } = sandboxWorld(engines)
    const { sandboxId } = await create({ labels: { ctp_task_id: 't' } })
    await save(sandboxId, 'x')
    await store.destroy(sandboxId, anyone)
    const sandbox = await create({ labels: { workspace_key: 't' }, restoreLatest: true })
    expect(sandbox.source).toEqual({ type: 'workspace_latest', workspaceKey: 't', sandboxId, snapshotSeq: 1 })
  })

  test('what a sandbox is restored from is its own snapshot, once it has saved one', async () => {
    const { create, save, store } = sandboxWorld(engines)
    const old = await create({ taskId: 't' })
    await save(old.sandboxId, 'x')
    const { sandboxId } = await create({ taskId: 't', restoreLatest: true })
    await save(old.sandboxId, 'y')
    // The snapshot of its creation, though there is a newer one.
    expect((await store.get(sandboxId))?.restore).toEqual({ sandboxId: old.sandboxId, snapshotSeq: 1 })
    await save(sandboxId, 'z')
    expect(await store.get(sandboxId)).toMatchObject({
      restore: { sandboxId, snapshotSeq: 1 },
      source: { sandboxId: old.sandboxId, snapshotSeq: 1 },
    })
  })
})

describe('the requests to DynamoDB of', () => {
  const create = async (input: Partial<CreateSandboxInput>) => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    await world.save(sandboxId, 'x')
    const source = input.source?.type === 'snapshot' ? { ...input.source, sandboxId, snapshotSeq: 1 } : input.source
    using counted = countRequests(engines.dynamodb)
    const sandbox = await world.create({ ...input, labels: { of: 'its own' }, source })
    return { requests: counted.names, sandbox }
  }

  test.for<[string, Partial<CreateSandboxInput>]>([
    ['a source', { taskId: 't', source: { type: 'workspace_latest' } }],
    ['restore_latest', { taskId: 't', restoreLatest: true }],
    ['reuse with restore_latest', { taskId: 't', reuse: true, restoreLatest: true }],
    ['reuse with a source', { taskId: 't', reuse: true, source: { type: 'workspace_latest' } }],
    ['the source of another task', { taskId: 'u', source: { type: 'workspace_latest', workspaceKey: 't' } }],
    ['one exact snapshot', { taskId: 't', source: { type: 'snapshot' } }],
    ['one exact snapshot of another task', { taskId: 'u', source: { type: 'snapshot' } }],
    ['one exact snapshot, with reuse and no key', { reuse: true, source: { type: 'snapshot' } }],
  ])('a create from %s are at most three', async ([, input]) => {
    const { requests, sandbox } = await create(input)
    expect(sandbox.restore).not.toBeNull()
    expect(requests.length, requests.join()).toBeLessThanOrEqual(3)
  })

  test.for<[string, Partial<CreateSandboxInput>]>([
    ['the source of another task', { taskId: 'u', source: { type: 'workspace_latest', workspaceKey: 't' } }],
    ['one exact snapshot', { taskId: 't', source: { type: 'snapshot' } }],
    ['one exact snapshot of another task', { taskId: 'u', source: { type: 'snapshot' } }],
  ])('a create with reuse and a key from %s are four', async ([, input]) => {
    const { requests, sandbox } = await create({ ...input, reuse: true })
    expect(sandbox.restore).not.toBeNull()
    expect(requests.map((name) => name.replace(/(Item)?s?Command$/, '')).sort()).toEqual(
      ['Query', input.source?.type === 'snapshot' ? 'TransactGet' : 'Get', 'TransactWrite', 'Update'].sort(),
    )
  })

  test('a reuse that finds one are two', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    await world.save(sandboxId, 'x')
    using counted = countRequests(engines.dynamodb)
    const source = { type: 'snapshot', sandboxId, snapshotSeq: 1 } as const
    expect((await world.create({ taskId: 't', reuse: true, source })).sandboxId).toBe(sandboxId)
    expect(counted.names).toEqual(['QueryCommand', 'GetItemCommand'])
  })

  test('a save are few, whatever the workspace holds', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    const [blob] = await Promise.all([world.put('x'), world.put('y')])
    const many = range(3_000).map((n) => ({ ...blob, path: `${n}` }))
    await world.store.saveSnapshot(sandboxId, { reason: 'stop', files: many })
    const changed = { ...(await world.put('y')), path: '0' }
    using counted = countRequests(engines.dynamodb)
    await world.store.saveSnapshot(sandboxId, { reason: 'stop', files: [changed, ...many.slice(1)] })
    // The sandbox, the lease, the keys that it had, the pages of the sweep, the commit.
    expect(counted.names.sort()).toEqual([
      'GetItemCommand',
      'GetItemCommand',
      'QueryCommand',
      'TransactWriteItemsCommand',
      'UpdateItemCommand',
    ])
  })
})
