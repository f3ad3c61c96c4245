import { PutObjectCommand } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundleObjectKey } from '../../src/blobs/object-keys.ts'
import { sweepBundles } from '../../src/bundles/sweep.ts'
import { sweepScope } from '../../src/sweep/scope-sweep.ts'
import { Table } from '../../src/table/table.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { after, injectFaults } from '../store/support/faults.ts'
import { type Engines, startEngines } from '../support/engines.ts'
import { ownClients } from '../sweep/support/scope-under-sweep.ts'
import { fetchAll, freshWorkspace, range } from './support/workspace.ts'

const TWO_HOURS_MS = 7_200_000

let engines: Engines

beforeAll(async () => {
  engines = await startEngines()
})

afterAll(() => engines.stop())

const later = () => Date.now() + TWO_HOURS_MS

function sweep(scope: Scope, now: () => number = later, clients: Pick<Engines, 's3' | 'dynamodb'> = engines) {
  const { tableName, bucketName } = engines
  return sweepBundles({ table: new Table(clients.dynamodb, tableName), s3: clients.s3, bucketName, scope }, now)
}

test('the bundles of a snapshot that is there stay, those that were replaced go', async () => {
  const { bundles, scope, workspace, files, save, objects } = freshWorkspace(engines)
  const stored = await files(range(0, 100))
  await bundles.build(workspace, await save(stored))
  const replaced = await objects()
  const used = stored.slice(0, 40)
  await bundles.build(workspace, await save(used))
  expect(await sweep(scope)).toMatchObject({ cleared: 2, failures: [] })
  const left = await objects()
  expect(left).toHaveLength(2)
  expect(left.filter((id) => replaced.includes(id))).toEqual([])
  const { bundled } = await fetchAll(await bundles.downloads(workspace, { files: used, artifacts: [] }))
  expect(bundled).toHaveLength(40)
  expect(await sweep(scope)).toMatchObject({ cleared: 0 })
})

test('nothing young goes: a build or a restore may be using it', async () => {
  const { bundles, scope, workspace, files, save, objects } = freshWorkspace(engines)
  const stored = await files(range(0, 100))
  await bundles.build(workspace, await save(stored))
  await bundles.build(workspace, await save(stored.slice(0, 40)))
  expect(await sweep(scope, () => Date.now() + 3_500_000)).toMatchObject({ cleared: 0 })
  expect(await objects()).toHaveLength(4)
})

test('the bundles of a snapshot that is gone go with their record, and no blob with them', async () => {
  const { bundles, blobs, scope, workspace, files, save, objects, removeCheckpoint } = freshWorkspace(engines)
  const stored = await files(range(0, 100))
  const id = await save(stored)
  await bundles.build(workspace, id)
  await removeCheckpoint(id)
  expect(await sweep(scope)).toMatchObject({ cleared: 3 })
  expect(await objects()).toEqual([])
  expect(await blobs.list('')).toHaveLength(100)
  const plan = await bundles.downloads(workspace, { files: stored, artifacts: [] })
  expect(plan).toMatchObject({ bundles: [], missing: [], wantsBundles: true })
})

test('a bundle keeps no blob alive', async () => {
  const { bundles, blobs, scope, workspace, files, save, removeCheckpoint } = freshWorkspace(engines)
  const id = await save(await files(range(0, 50)))
  await bundles.build(workspace, id)
  await removeCheckpoint(id)
  const { tableName, bucketName, s3 } = engines
  const table = new Table(engines.dynamodb, tableName)
  const { deletedBlobs, counts } = await sweepScope({
    ...{ table, s3, bucketName, scope, now: later, olderThanMs: 0, dryRun: false, waitMs: 0 },
  })
  expect(deletedBlobs).toHaveLength(50)
  expect(counts.cleared).toBe(3)
  expect(await blobs.list('')).toEqual([])
})

test('a sweep that counts only, or of another scope, drops nothing', async () => {
  const { bundles, scope, workspace, files, save, objects, removeCheckpoint } = freshWorkspace(engines)
  const id = await save(await files(range(0, 50)))
  await bundles.build(workspace, id)
  await removeCheckpoint(id)
  const { tableName, bucketName, s3 } = engines
  const table = new Table(engines.dynamodb, tableName)
  await sweepScope({ ...{ table, s3, bucketName, scope, now: later, olderThanMs: 0, dryRun: true, waitMs: 0 } })
  await sweep({ ...scope, project: 'other' })
  expect(await objects()).toHaveLength(2)
})

test('a record whose list is gone goes, and objects that a killed build left', async () => {
  const { bundles, scope, workspace, files, save, objects, removeBundle } = freshWorkspace(engines)
  const stored = await files(range(0, 50))
  const id = await save(stored)
  await bundles.build(workspace, id)
  const [planned] = (await bundles.downloads(workspace, { files: stored, artifacts: [] })).bundles
  const list = (await objects()).find((object) => object !== planned?.id) ?? ''
  await removeBundle(list)
  const Key = bundleObjectKey(scope, 'left')
  await engines.s3.send(new PutObjectCommand({ Bucket: engines.bucketName, Key, Body: 'left' }))
  // The record, the bundle, the list with the marker that hides it, and what was left.
  expect(await sweep(scope)).toMatchObject({ cleared: 5 })
  expect(await objects()).toEqual([])
  expect(await bundles.build(workspace, id)).toMatchObject({ written: 1 })
})

test('a record that changes while the sweep looks at it stays', async () => {
  const { bundles, scope, workspace, files, save, removeCheckpoint } = freshWorkspace(engines)
  const stored = await files(range(0, 100))
  const gone = await save(stored.slice(0, 60))
  await bundles.build(workspace, gone)
  await removeCheckpoint(gone)
  const id = await save(stored)
  const clients = ownClients(engines)
  using _ = injectFaults(clients.dynamodb, 'DeleteItem', [after(() => bundles.build(workspace, id))])
  await sweep(scope, () => Date.now(), clients)
  const plan = await bundles.downloads(workspace, { files: stored, artifacts: [] })
  expect(plan).toMatchObject({ blobs: [], wantsBundles: false })
  expect((await fetchAll(plan)).bundled).toHaveLength(100)
})
