import { afterAll, expect, test } from 'vitest'
import { startEngines } from '../support/engines.ts'
import { anyone, sandboxWorld } from './support/world.ts'

const engines = await startEngines()
afterAll(engines.stop)

test('a new sandbox begins from what the task saved last, though the old sandbox is destroyed', async () => {
  const { create, save, store, put } = sandboxWorld(engines)
  const first = await create({ taskId: 'task-42', source: { type: 'workspace_latest' } })
  expect(first).toMatchObject({ status: 'running', source: { type: 'workspace_latest', workspaceKey: 'task-42' } })
  expect(first.source).not.toHaveProperty('sandboxId')
  expect(first.restore).toBeNull()
  const saved = await save(first.sandboxId, 'one')
  expect(saved).toMatchObject({ sandboxId: first.sandboxId, snapshotSeq: 1, reason: 'autosave', latest: true })
  await save(first.sandboxId, 'two')
  await store.destroy(first.sandboxId, anyone)
  expect(await store.get(first.sandboxId)).toMatchObject({ status: 'destroyed', latestSnapshotSeq: 2 })

  const second = await create({ taskId: 'task-42', source: { type: 'workspace_latest' } })
  expect(second.source).toEqual({
    type: 'workspace_latest',
    workspaceKey: 'task-42',
    sandboxId: first.sandboxId,
    snapshotSeq: 2,
  })
  expect(second.restore).toEqual({ sandboxId: first.sandboxId, snapshotSeq: 2 })
  const snapshot = await store.getSnapshot(first.sandboxId, 2)
  expect(snapshot).toMatchObject({ files: [await put('two')], latest: true })
})
