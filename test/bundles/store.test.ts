import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBundleStore } from '../../src/bundles/store.ts'
import type { SandboxSnapshotFileEntry } from '../../src/checkpoints/types.ts'
import { after, connectionReset, injectFaults, loseAnswer, refuse, serviceError } from '../store/support/faults.ts'
import { type Engines, startEngines } from '../support/engines.ts'
import { ownClients } from '../sweep/support/scope-under-sweep.ts'
import { contentOf, fetchAll, freshWorkspace, keyOf, range } from './support/workspace.ts'

let engines: Engines

beforeAll(async () => {
  engines = await startEngines()
})

afterAll(() => engines.stop())

const keysOf = (files: readonly SandboxSnapshotFileEntry[]) => files.map(({ blobKey }) => blobKey).sort()

test('what was built holds every small blob of the snapshot; the rest comes by itself', async () => {
  const { bundles, workspace, files, save, objects } = freshWorkspace(engines)
  const small = await files(range(0, 100))
  const large = await files(['large'], 300_000)
  const id = await save([...small, ...large])

  const before = await bundles.downloads(workspace, { files: [...small, ...large], artifacts: [] })
  expect(before).toMatchObject({ bundles: [], missing: [], rest: [], wantsBundles: true })
  expect((await fetchAll(before)).single.sort()).toEqual(keysOf([...small, ...large]))

  expect(await bundles.build(workspace, id)).toEqual({ written: 1, kept: 0, left: 0 })
  const plan = await bundles.downloads(workspace, { files: [...small, ...large], artifacts: [] })
  expect(plan).toMatchObject({ missing: [], rest: [], wantsBundles: false })
  const fetched = await fetchAll(plan)
  expect(fetched.bundled.sort()).toEqual(keysOf(small))
  expect(fetched.single).toEqual(keysOf(large))
  expect(await objects()).toHaveLength(2)
})

test('a later snapshot uses the bundles of the ones before it', async () => {
  const { bundles, workspace, files, save, objects } = freshWorkspace(engines)
  const first = await files(range(0, 200))
  await bundles.build(workspace, await save(first))
  const second = [...first.slice(10), ...(await files(range(1_000, 1_010)))]
  const id = await save(second)
  const stored = await objects()
  expect(await bundles.build(workspace, id)).toEqual({ written: 0, kept: 1, left: 10 })
  expect(await objects()).toEqual(stored)
  const fetched = await fetchAll(await bundles.downloads(workspace, { files: second, artifacts: [] }))
  expect(fetched.bundled.sort()).toEqual(keysOf(second.slice(0, 190)))
  expect(fetched.single.sort()).toEqual(keysOf(second.slice(190)))
})

test('a bundle that is used by less than half is built anew', async () => {
  const { bundles, workspace, files, save } = freshWorkspace(engines)
  const first = await files(range(0, 100))
  await bundles.build(workspace, await save(first))
  const second = first.slice(0, 49)
  expect(await bundles.build(workspace, await save(second))).toEqual({ written: 1, kept: 0, left: 0 })
  const plan = await bundles.downloads(workspace, { files: second, artifacts: [] })
  expect(plan.bundles.map(({ size }) => size)).toEqual([49_000])
})

test('the plan of more single blobs than one exchange takes names the rest', async () => {
  const { bundles, workspace } = freshWorkspace(engines)
  const nowhere = range(0, 1_005).map((name): SandboxSnapshotFileEntry => {
    const blobKey = keyOf(contentOf(`nowhere ${name}`))
    return { kind: 'file', path: String(name), blobKey, size: 1 }
  })
  const plan = await bundles.downloads(workspace, { files: nowhere, artifacts: [] })
  expect(plan).toMatchObject({ bundles: [], blobs: [] })
  expect([...plan.missing, ...plan.rest]).toEqual(nowhere.map(({ blobKey }) => blobKey))
  expect(plan.rest).toHaveLength(5)
})

test('artifacts are in the plan', async () => {
  const { bundles, workspace, blobs } = freshWorkspace(engines)
  const bytes = contentOf('artifact')
  const blobKey = keyOf(bytes).replace('files', 'artifacts')
  await blobs.put(blobKey, bytes)
  const plan = await bundles.downloads(workspace, { files: [], artifacts: [{ blobKey, size: bytes.length }] })
  expect(plan.blobs.map(({ key, size }) => [key, size])).toEqual([[blobKey, 1_000]])
})

test('a blob that is missing or is not what its key says comes into no bundle', async () => {
  const { bundles, workspace, blobs, files, save, corrupt } = freshWorkspace(engines)
  const good = await files(range(0, 50))
  const [bad] = await files(['bad'])
  const [shorter] = await files(['shorter'])
  if (!bad || !shorter) throw new Error('There are no files.')
  await corrupt(bad.blobKey, contentOf('other'))
  await corrupt(shorter.blobKey, contentOf('shorter', 999))
  const [gone] = await files(['gone'])
  if (!gone) throw new Error('There is no file.')
  await blobs.delete(gone.blobKey)
  const id = await save([bad, ...good.slice(0, 25), gone, ...good.slice(25), shorter])
  expect(await bundles.build(workspace, id)).toEqual({ written: 1, kept: 0, left: 3 })
  const plan = await bundles.downloads(workspace, { files: [...good, bad, gone, shorter], artifacts: [] })
  expect(plan.bundles[0]?.entries.map(({ key }) => key).sort()).toEqual(keysOf(good))
  expect(plan.missing).toEqual([gone.blobKey])
  await expect(fetchAll({ ...plan, blobs: [] })).resolves.toMatchObject({ single: [] })
})

test('no one sees the bundles of another workspace or scope', async () => {
  const { bundles, scope, files, save } = freshWorkspace(engines)
  const stored = await files(range(0, 50))
  await bundles.build({ workspaceKey: 'name' }, await save(stored))
  const downloads = { files: stored, artifacts: [] }
  expect((await bundles.downloads({ sandboxId: 'name' }, downloads)).bundles).toEqual([])
  expect((await bundles.downloads({ workspaceKey: 'other' }, downloads)).bundles).toEqual([])
  const others = createBundleStore({ ...engines, scope: { ...scope, project: 'other' } })
  expect((await others.downloads({ workspaceKey: 'name' }, downloads)).bundles).toEqual([])
  expect((await bundles.downloads({ workspaceKey: 'name' }, downloads)).bundles).toHaveLength(1)
})

test('a build for a snapshot older than the one that has bundles does nothing', async () => {
  const { bundles, workspace, files, save, objects } = freshWorkspace(engines)
  const stored = await files(range(0, 50))
  const older = await save(stored.slice(0, 40))
  const newer = await save(stored)
  await bundles.build(workspace, newer)
  const before = await objects()
  expect(await bundles.build(workspace, older)).toBe(null)
  expect(await objects()).toEqual(before)
})

test('when the time is up, what was written counts, and the next build does the rest', async () => {
  const { bundles, workspace, files, save } = freshWorkspace(engines)
  const stored = await files(range(0, 80), 200_000)
  const id = await save(stored)
  let asked = 0
  expect(await bundles.build(workspace, id, () => ++asked > 1)).toEqual({
    written: 1,
    kept: 0,
    left: 40,
  })
  const plan = await bundles.downloads(workspace, { files: stored, artifacts: [] })
  expect(plan).toMatchObject({ wantsBundles: true })
  expect(await bundles.build(workspace, id)).toEqual({ written: 1, kept: 1, left: 0 })
})

test('of two builds at once the second goes on from the first, whose bundles stay in use', async () => {
  const { bundles, scope, workspace, files, save } = freshWorkspace(engines)
  const stored = await files(range(0, 100))
  const first = await save(stored.slice(0, 60))
  const second = await save(stored)
  const clients = ownClients(engines)
  const slow = createBundleStore({ ...engines, ...clients, scope })
  // The other one is over while this one is about to write its record.
  using faults = injectFaults(clients.dynamodb, 'UpdateItem', [after(() => bundles.build(workspace, first))])
  expect(await slow.build(workspace, second)).toMatchObject({ left: 0 })
  expect(faults.seen).toBe(2)
  const fetched = await fetchAll(await bundles.downloads(workspace, { files: stored, artifacts: [] }))
  expect(fetched.bundled.sort()).toEqual(keysOf(stored))
})

test('a build of an older snapshot that comes late leaves the bundles of the newer one', async () => {
  const { bundles, scope, workspace, files, save } = freshWorkspace(engines)
  const stored = await files(range(0, 100))
  const first = await save(stored.slice(0, 60))
  const second = await save(stored)
  const clients = ownClients(engines)
  using _ = injectFaults(clients.dynamodb, 'UpdateItem', [after(() => bundles.build(workspace, second))])
  const slow = createBundleStore({ ...engines, ...clients, scope })
  expect(await slow.build(workspace, first)).toBe(null)
  const plan = await bundles.downloads(workspace, { files: stored, artifacts: [] })
  expect(plan).toMatchObject({ blobs: [], missing: [], wantsBundles: false })
})

test.for([
  ['PutObject', 0],
  ['PutObject', 1],
  ['UpdateItem', 0],
] as const)('a build that is killed before its %s %i changes nothing for restores', async ([command, before]) => {
  const { bundles, scope, workspace, files, save } = freshWorkspace(engines)
  const stored = await files(range(0, 60))
  const id = await save(stored)
  const clients = ownClients(engines)
  const killed = createBundleStore({ ...engines, ...clients, scope })
  const pass = after(async () => undefined)
  const client = command === 'UpdateItem' ? clients.dynamodb : clients.s3
  using _ = injectFaults(client, command, [
    ...Array.from({ length: before }, () => pass),
    refuse(() => new Error('killed')),
  ])
  await expect(killed.build(workspace, id)).rejects.toThrow('killed')
  const plan = await bundles.downloads(workspace, { files: stored, artifacts: [] })
  expect(plan).toMatchObject({ bundles: [], wantsBundles: true })
  expect((await fetchAll(plan)).single.sort()).toEqual(keysOf(stored))
  expect(await bundles.build(workspace, id)).toMatchObject({ written: 1 })
})

test('what fails in passing is done again, and a lost answer is known for what it was', async () => {
  const { bundles, scope, workspace, files, save, objects } = freshWorkspace(engines)
  const stored = await files(range(0, 60))
  const id = await save(stored)
  const clients = ownClients(engines)
  const faulty = createBundleStore({ ...engines, ...clients, scope })
  using _put = injectFaults(clients.s3, 'PutObject', [refuse(() => serviceError('SlowDown', 503))])
  using _get = injectFaults(clients.s3, 'GetObject', [refuse(connectionReset)])
  using update = injectFaults(clients.dynamodb, 'UpdateItem', [loseAnswer()])
  expect(await faulty.build(workspace, id)).toEqual({ written: 1, kept: 0, left: 0 })
  expect(update.seen).toBe(2)
  expect(await objects()).toHaveLength(2)
  const plan = await bundles.downloads(workspace, { files: stored, artifacts: [] })
  expect(plan.bundles).toHaveLength(1)
})

test('a plan can be made while bundles or their list are gone, and the next build makes them anew', async () => {
  const { bundles, workspace, files, save, objects, removeBundle } = freshWorkspace(engines)
  const stored = await files(range(0, 60))
  const id = await save(stored)
  await bundles.build(workspace, id)
  const { bundles: planned } = await bundles.downloads(workspace, { files: stored, artifacts: [] })
  await removeBundle(planned[0]?.id ?? '')
  expect(await bundles.build(workspace, id)).toEqual({ written: 1, kept: 0, left: 0 })
  for (const object of await objects()) await removeBundle(object)
  const plan = await bundles.downloads(workspace, { files: stored, artifacts: [] })
  expect(plan).toMatchObject({ bundles: [], wantsBundles: true })
  expect(await bundles.build(workspace, id)).toEqual({ written: 1, kept: 0, left: 0 })
  const fetched = await fetchAll(await bundles.downloads(workspace, { files: stored, artifacts: [] }))
  expect(fetched.bundled).toHaveLength(60)
})
