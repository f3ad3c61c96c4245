import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SandkeepClient } from '../../client/index.ts'
import { startTestApi, type TestApi } from './support/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.stop())

async function put(client: SandkeepClient, text: string) {
  const bytes = Buffer.from(text)
  const blobKey = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`
  await client.blobs.put(blobKey, bytes)
  return { kind: 'file', path: 'f.txt', blobKey, size: bytes.length, mode: 0o755 } as const
}

test('the client creates, saves, destroys and begins anew from what was saved', async () => {
  const client = api.client()
  const { sandboxes } = client
  const { sandbox: first, reused } = await sandboxes.create({ profile: 'p', taskId: 't-1', labels: { a: 'b' } })
  expect(reused).toBe(false)
  expect(first).toMatchObject({ profile: 'p', taskId: 't-1', workspaceKey: 't-1', labels: { a: 'b' }, source: null })
  const files = [await put(client, 'one'), { kind: 'symlink', path: 'l', target: '../x' } as const]
  const saved = await sandboxes.saveSnapshot(first.sandboxId, { reason: 'stop', files, conversation: [{ a: 1 }] })
  expect(saved).toMatchObject({ snapshotSeq: 1, reason: 'stop', latest: true, label: null })
  await sandboxes.destroy(first.sandboxId)
  const again = await sandboxes.create({ profile: 'p', taskId: 't-1', restoreLatest: true, reuse: true })
  expect(again.sandbox.restore).toEqual({ sandboxId: first.sandboxId, snapshotSeq: 1 })
  expect(await sandboxes.getSnapshot({ sandboxId: first.sandboxId, snapshotSeq: 1 })).toEqual({
    ...saved,
    files,
    artifacts: [],
    conversation: [{ a: 1 }],
  })
  expect((await sandboxes.list({ taskId: 't-1' })).sandboxes.map(({ status }) => status)).toEqual([
    'running',
    'destroyed',
  ])
  expect((await sandboxes.listSnapshots(first.sandboxId)).snapshots).toEqual([saved])
  const { sandboxId } = again.sandbox
  const ifLatest = { sandboxId: first.sandboxId, snapshotSeq: 1 }
  expect(await sandboxes.saveSnapshot(sandboxId, { reason: 'stop', files, ifLatest: null })).toMatchObject({
    latest: false,
  })
  expect(await sandboxes.saveSnapshot(sandboxId, { reason: 'stop', files, ifLatest })).toMatchObject({ latest: true })
})
