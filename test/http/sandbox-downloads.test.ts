import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SandkeepClient } from '../../client/index.ts'
import type { SandboxSnapshotFileEntry } from '../../src/checkpoints/types.ts'
import { contentOf, fetchAll, keyOf, range } from '../bundles/support/workspace.ts'
import { startTestApi, type TestApi } from './support/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.stop())

async function put(client: SandkeepClient, names: readonly (number | string)[]): Promise<SandboxSnapshotFileEntry[]> {
  const files: SandboxSnapshotFileEntry[] = []
  for (const name of names) {
    const bytes = contentOf(name)
    await client.blobs.put(keyOf(bytes), bytes)
    files.push({ kind: 'file', path: `f-${name}`, blobKey: keyOf(bytes), size: bytes.length })
  }
  return files
}

const keysOf = (files: readonly SandboxSnapshotFileEntry[]) => files.map(({ blobKey }) => blobKey).sort()

test('a saved workspace is fetched by bundles, on through its next sandbox, and after the first is destroyed', async () => {
  const client = api.client()
  const { sandboxes } = client
  const { sandbox } = await sandboxes.create({ profile: 'p', taskId: 't-1' })
  const files = await put(client, range(0, 40))
  const first = await sandboxes.saveSnapshot(sandbox.sandboxId, { reason: 'stop', files })
  expect((await fetchAll(await sandboxes.snapshotDownloads(first))).bundled.sort()).toEqual(keysOf(files))

  await sandboxes.destroy(sandbox.sandboxId)
  const { sandbox: next } = await sandboxes.create({ profile: 'p', taskId: 't-1', restoreLatest: true })
  const changed = [...files.slice(1), ...(await put(client, ['new']))]
  const second = await sandboxes.saveSnapshot(next.sandboxId, { reason: 'autosave', files: changed })
  for (const { name, expected } of [
    { name: first, expected: { bundled: keysOf(files), single: [] } },
    { name: second, expected: { bundled: keysOf(files.slice(1)), single: keysOf(changed.slice(-1)) } },
  ]) {
    const { bundled, single } = await fetchAll(await sandboxes.snapshotDownloads(name))
    expect({ bundled: bundled.sort(), single: single.sort() }).toEqual(expected)
  }
})

test('a sandbox without a workspace key has bundles of its own; few files have none', async () => {
  const client = api.client()
  const { sandboxes } = client
  const { sandbox } = await sandboxes.create({ profile: 'p' })
  const few = await put(client, range(0, 31))
  const plan = await sandboxes.snapshotDownloads(
    await sandboxes.saveSnapshot(sandbox.sandboxId, { reason: 'push', files: few }),
  )
  expect([plan.bundles, plan.missing, plan.rest]).toEqual([[], [], []])
  expect((await fetchAll(plan)).single.sort()).toEqual(keysOf(few))
  const files = [...few, ...(await put(client, [31]))]
  const saved = await sandboxes.saveSnapshot(sandbox.sandboxId, { reason: 'push', files })
  expect((await sandboxes.snapshotDownloads(saved)).bundles).toHaveLength(1)
})

test('a snapshot that does not become the latest leaves the bundles of the one that is', async () => {
  const client = api.client()
  const { sandboxes } = client
  const { sandbox: old } = await sandboxes.create({ profile: 'p', taskId: 't-1' })
  const { sandbox: newer } = await sandboxes.create({ profile: 'p', taskId: 't-1' })
  const files = await put(client, range(0, 40))
  const latest = await sandboxes.saveSnapshot(newer.sandboxId, { reason: 'stop', files })
  const others = await put(client, range(100, 140))
  const late = await sandboxes.saveSnapshot(old.sandboxId, { reason: 'stop', files: others })
  expect(late.latest).toBe(false)
  // To ask for its downloads asks for bundles too.
  expect((await fetchAll(await sandboxes.snapshotDownloads(late))).single.sort()).toEqual(keysOf(others))
  expect((await sandboxes.snapshotDownloads(latest)).bundles).toHaveLength(1)
})

test('named blobs come each by itself; what the snapshot does not hold is missing', async () => {
  const client = api.client()
  const { sandboxes } = client
  const { sandbox } = await sandboxes.create({ profile: 'p' })
  const files = await put(client, range(0, 40))
  const [other] = await put(client, ['of no snapshot'])
  const saved = await sandboxes.saveSnapshot(sandbox.sandboxId, { reason: 'push', files })
  const asked = keysOf(files.slice(0, 2))
  const plan = await sandboxes.snapshotDownloads(saved, [...asked, other?.blobKey ?? ''])
  expect(plan).toMatchObject({ bundles: [], missing: [other?.blobKey], rest: [] })
  expect((await fetchAll(plan)).single.sort()).toEqual(asked)
})

test('an unknown snapshot, sandbox or scope is 404, and bad keys are 400', async () => {
  const client = api.client()
  const { sandbox } = await client.sandboxes.create({ profile: 'p' })
  const saved = await client.sandboxes.saveSnapshot(sandbox.sandboxId, { reason: 'push', files: [] })
  const missing = { status: 404, code: 'not_found' }
  await expect(client.sandboxes.snapshotDownloads({ ...saved, snapshotSeq: 2 })).rejects.toMatchObject(missing)
  await expect(client.sandboxes.snapshotDownloads({ ...saved, sandboxId: 'x' })).rejects.toMatchObject(missing)
  await expect(api.client().sandboxes.snapshotDownloads(saved)).rejects.toMatchObject(missing)
  for (const keys of [[], ['x'], Array.from({ length: 1_001 }, () => keyOf(contentOf(1)))]) {
    await expect(client.sandboxes.snapshotDownloads(saved, keys)).rejects.toMatchObject({ status: 400 })
  }
  expect(await client.sandboxes.snapshotDownloads(saved)).toEqual({ bundles: [], blobs: [], missing: [], rest: [] })
})

test('a save succeeds though bundles cannot be asked for', async () => {
  const failing = api.withOptions({ requestBundles: () => Promise.reject(new Error('injected')) })
  const client = failing.client()
  const { sandbox } = await client.sandboxes.create({ profile: 'p' })
  const files = await put(client, range(0, 40))
  const saved = await client.sandboxes.saveSnapshot(sandbox.sandboxId, { reason: 'push', files })
  const plan = await client.sandboxes.snapshotDownloads(saved)
  expect((await fetchAll(plan)).single.sort()).toEqual(keysOf(files))
})
