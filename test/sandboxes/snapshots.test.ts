import { afterAll, describe, expect, test } from 'vitest'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import { BlobsMissingError } from '../../src/errors.ts'
import { listSandboxes } from '../../src/sandboxes/read.ts'
import type { ListSandboxesInput, SandboxStore } from '../../src/sandboxes/types.ts'
import { createSweepService } from '../../src/sweep/service.ts'
import { Table } from '../../src/table/table.ts'
import { outcome, tally } from '../store/support/stores.ts'
import { startEngines } from '../support/engines.ts'
import { anyone, RETENTION_MS, type SandboxWorld, sandboxWorld } from './support/world.ts'

const engines = await startEngines()
afterAll(engines.stop)

const range = (count: number) => Array.from({ length: count }, (_, index) => index)
const unknownKey = (digit: number) => `sandbox-files/sha256/${String(digit).repeat(64)}`
const fileOf = (blobKey: string, path = 'f'): SandboxSnapshotEntry => ({ kind: 'file', path, blobKey, size: 1 })

function checkpointsOf({ scope, now }: SandboxWorld) {
  return createCheckpointStore({ ...engines, scope, now })
}

describe('a snapshot', () => {
  test('comes back as it was saved', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    const file = await world.put('x')
    const files: SandboxSnapshotEntry[] = [
      { ...file, path: 'bin/run', mode: 0o4755 },
      { ...file, path: '報告 %41.txt' },
      { kind: 'dir', path: 'empty' },
      { kind: 'symlink', path: 'link', target: '/etc/passwd' },
    ]
    const artifactKey = file.blobKey.replace('files', 'artifacts')
    await world.blobs.put(artifactKey, Buffer.from('x'))
    const artifact = {
      artifactId: 'a',
      name: 'r',
      mimeType: 'text/plain',
      size: 1,
      blobKey: artifactKey,
      createdAt: 0.5,
    }
    const conversation = [{ n: -0, big: 1e21, text: '\ud800', nested: { list: [[], {}] } }]
    const saved = await world.store.saveSnapshot(sandboxId, {
      ...{ reason: 'push', files, artifacts: [artifact], conversation, label: '' },
    })
    expect(saved).toEqual({
      ...{ sandboxId, snapshotSeq: 1, checkpointId: saved.checkpointId, workspaceKey: 't' },
      ...{ reason: 'push', label: '', createdAt: world.now(), latest: true },
    })
    expect(await world.store.getSnapshot(sandboxId, 1)).toEqual({
      ...{ ...saved, files, artifacts: [artifact], conversation },
    })
  })

  test('is a checkpoint, whose blobs count, and which no thread leads to', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    const { checkpointId } = await world.save(sandboxId, 'x')
    await world.save(sandboxId, 'x')
    const checkpoints = checkpointsOf(world)
    const { blobKey } = await world.put('x')
    expect(await checkpoints.listBlobReferences()).toEqual([{ key: blobKey, references: 2 }])
    const usage = await createSweepService({
      ...engines,
      scope: world.scope,
      startSweep: async () => undefined,
    }).usage()
    expect(usage).toMatchObject({ threads: 0, checkpoints: 2, referencedBlobs: 1, logicalBytes: 2 })
    const { threadId } = (await checkpoints.get(checkpointId)) ?? { threadId: '' }
    expect(await checkpoints.getHead(threadId)).toBeNull()
    expect(await checkpoints.list(threadId)).toEqual([])
    const writer = await checkpoints.acquireWriter(threadId)
    expect(await checkpoints.deleteCheckpoints({ threadId, keep: 1, writer })).toEqual({ deleted: [] })
    expect(await outcome(checkpoints.deleteHead({ threadId, checkpointId, writer }))).toBe('NOT_HEAD')
    expect(await world.store.getSnapshot(sandboxId, 1)).not.toBeNull()
  })

  test('of a large workspace is kept in the bucket, and comes back', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create()
    const { blobKey } = await world.put('x')
    const files = range(5_000).map((n) => fileOf(blobKey, `folder-${n % 50}/file-${n * n}`))
    await world.store.saveSnapshot(sandboxId, { reason: 'stop', files })
    expect((await world.store.getSnapshot(sandboxId, 1))?.files).toEqual(files)
  })

  test('that is not there is null, whatever its number', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create()
    for (const seq of [0, 1, -1, 1.5, 2 ** 53 - 1]) expect(await world.store.getSnapshot(sandboxId, seq)).toBeNull()
    expect(await world.store.getSnapshot('x', 1)).toBeNull()
    expect(await outcome(world.store.listSnapshots('x', { limit: 1 }))).toBe('not_found')
    expect(await outcome(world.save('x', 'x'))).toBe('not_found')
  })
})

test('five rounds of save, destroy, resume and edit keep everything, links, modes and deletions too', async () => {
  const world = sandboxWorld(engines)
  let sandbox = await world.create({ taskId: 't', restoreLatest: true })
  let files: SandboxSnapshotEntry[] = []
  for (const round of range(5)) {
    files = [
      ...files.filter(({ path }) => path !== `old-${round - 1}`),
      { ...(await world.put(`content ${round}`)), path: `new-${round}`, mode: 0o600 + round },
      { kind: 'symlink', path: `old-${round}`, target: `new-${round}` },
    ]
    await world.store.saveSnapshot(sandbox.sandboxId, { reason: 'destroy', files })
    await world.store.destroy(sandbox.sandboxId, anyone)
    sandbox = await world.create({ taskId: 't', restoreLatest: true })
    const { sandboxId = '', snapshotSeq = 0 } = sandbox.restore ?? {}
    const twice = await Promise.all([
      world.store.getSnapshot(sandboxId, snapshotSeq),
      world.store.getSnapshot(sandboxId, snapshotSeq),
    ])
    for (const restored of twice) expect(restored?.files).toEqual(files)
  }
})

describe('the numbers of snapshots', () => {
  test('are 1, 2, 3 in each sandbox, with no gap for what was refused', async () => {
    const world = sandboxWorld(engines)
    const ids = [await world.create({ taskId: 't' }), await world.create({ taskId: 't' })].map((s) => s.sandboxId)
    for (const n of range(3)) {
      for (const id of ids) {
        expect(await outcome(world.store.saveSnapshot(id, { reason: 'stop', files: [fileOf(unknownKey(1))] }))).toBe(
          'blob_missing',
        )
        expect((await world.save(id, `${n}`)).snapshotSeq).toBe(n + 1)
      }
    }
  })
})

describe('the blobs of a save', () => {
  test('that are not there are told, and nothing is saved', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    const before = await world.items()
    const files = [await world.put('x'), fileOf(unknownKey(1), 'a'), fileOf(unknownKey(2), 'b')]
    const refused = await world.store
      .saveSnapshot(sandboxId, { reason: 'stop', files })
      .catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(BlobsMissingError)
    expect(refused).toMatchObject({ status: 409, code: 'blob_missing', keys: [unknownKey(1), unknownKey(2)] })
    expect(await world.items()).toEqual(before)
  })

  test('are looked for however many there are, and the first thousand of the missing are named', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create()
    const keyOf = (n: number) => `sandbox-files/sha256/${n.toString(16).padStart(64, '0')}`
    const files = range(2_001).map((n) => fileOf(keyOf(n), `${n}`))
    const refused = await world.store
      .saveSnapshot(sandboxId, { reason: 'stop', files })
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({ message: expect.stringContaining('2001'), keys: range(1_000).map(keyOf) })
  })

  test('that the snapshot before has are not asked for again; others are', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    const old = await world.put('old')
    await world.store.saveSnapshot(sandboxId, { reason: 'stop', files: [old] })
    const heads = countHeads()
    const files = [old, { ...(await world.put('new')), path: 'new' }]
    await world.store.saveSnapshot(sandboxId, { reason: 'stop', files })
    const next = await world.create({ taskId: 't', restoreLatest: true })
    await world.store.saveSnapshot(next.sandboxId, { reason: 'stop', files })
    expect(heads.keys()).toEqual([expect.stringContaining(files[1]?.kind === 'file' ? files[1].blobKey : '')])
  })
})

function countHeads() {
  const keys: string[] = []
  engines.s3.middlewareStack.add(
    (next, context) => (args) => {
      if (context.commandName === 'HeadObjectCommand') keys.push(String((args.input as { Key?: string }).Key))
      return next(args)
    },
    { name: 'heads', step: 'initialize', override: true },
  )
  return { keys: () => keys }
}

describe('a save that is sent again with its token', () => {
  const input = async (world: SandboxWorld, text: string, requestToken = 'token') =>
    ({ reason: 'stop', files: [await world.put(text)], requestToken }) as const

  test('is answered as the first was, after others too', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    const first = await world.store.saveSnapshot(sandboxId, await input(world, 'x'))
    world.advance(1_000)
    expect(await world.store.saveSnapshot(sandboxId, await input(world, 'x'))).toEqual(first)
    await world.store.saveSnapshot(sandboxId, await input(world, 'y', 'other'))
    expect(await world.store.saveSnapshot(sandboxId, await input(world, 'x'))).toEqual({ ...first, latest: false })
    expect((await world.store.get(sandboxId))?.latestSnapshotSeq).toBe(2)
  })

  test('is another save when its content is another', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    await world.store.saveSnapshot(sandboxId, await input(world, 'x'))
    expect(await world.store.saveSnapshot(sandboxId, await input(world, 'y'))).toMatchObject({ snapshotSeq: 2 })
  })

  test('is saved once, though it is sent many times at once', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    const saves = await Promise.all(
      range(5).map(async () => world.store.saveSnapshot(sandboxId, await input(world, 'x'))),
    )
    expect(tally(saves.map(({ snapshotSeq }) => String(snapshotSeq)))).toEqual({ 1: 5 })
    expect((await world.store.listSnapshots(sandboxId, { limit: 9 })).snapshots).toHaveLength(1)
    expect(await checkpointsOf(world).listBlobReferences()).toMatchObject([{ references: 1 }])
  })
})

describe('lists', () => {
  /** Lists the ids of all sandboxes that fit, by page. */
  const pagesOf =
    (list: SandboxStore['list']) => async (filter: Pick<ListSandboxesInput, 'taskId' | 'status'>, limit: number) => {
      const pages: string[][] = []
      let after: string | null | undefined
      while (after !== null) {
        const page = await list({ ...filter, limit, ...(after !== undefined && { after }) })
        pages.push(page.sandboxes.map(({ sandboxId }) => sandboxId))
        after = page.next
      }
      return pages
    }

  test('of snapshots are paged in the order of their saving', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    for (const n of range(5)) await world.save(sandboxId, `${n % 2}`)
    const pages: number[][] = []
    let after: string | null | undefined
    while (after !== null) {
      const page = await world.store.listSnapshots(sandboxId, { limit: 2, ...(after !== undefined && { after }) })
      pages.push(page.snapshots.map(({ snapshotSeq }) => snapshotSeq))
      after = page.next
    }
    expect(pages).toEqual([[1, 2], [3, 4], [5]])
    expect(await world.store.listSnapshots(sandboxId, { limit: 5 })).toMatchObject({ next: null })
  })

  test('of sandboxes are paged newest first, of all and of a task, by status, with full pages', async () => {
    const world = sandboxWorld(engines)
    const ids: string[] = []
    for (const n of range(7)) {
      const { sandboxId } = await world.create(n % 2 === 0 ? { taskId: 'even' } : { labels: { task_id: 'odd' } })
      ids.unshift(sandboxId)
      if (n < 3) await world.store.stop(sandboxId)
    }
    const even = ids.filter((_, index) => index % 2 === 0)
    const all = pagesOf(world.store.list)
    expect(await all({}, 3)).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)])
    expect(await all({}, 7)).toEqual([ids])
    expect(await all({ taskId: 'even' }, 3)).toEqual([even.slice(0, 3), even.slice(3)])
    expect(await all({ status: 'stopped' }, 2)).toEqual([ids.slice(4, 6), ids.slice(6)])
    expect(await all({ taskId: 'odd', status: 'stopped' }, 2)).toEqual([[ids[5]]])
    expect(await all({ status: 'expired' }, 2)).toEqual([[]])
    expect(await all({ taskId: 'eve' }, 2)).toEqual([[]])
  })

  test('of sandboxes look at so many only, and go on where they stopped, after a page of none too', async () => {
    const world = sandboxWorld(engines)
    const ids: string[] = []
    for (const n of range(7)) ids.unshift((await world.create({ taskId: n < 6 ? 't' : 'u' })).sandboxId)
    for (const id of [ids[3], ids[6]]) await world.store.stop(id ?? '')
    const context = {
      table: new Table(engines.dynamodb, engines.tableName),
      ...{ scope: world.scope, now: world.now, retentionMs: RETENTION_MS },
    }
    const all = pagesOf((input) => listSandboxes(context, input, 2))
    const [, , , third = '', , , oldest = ''] = ids
    expect(await all({ status: 'stopped' }, 5)).toEqual([[], [third], [], [oldest]])
    expect(await all({ status: 'stopped' }, 1)).toEqual([[], [third], [], [oldest]])
    expect(await all({ status: 'expired' }, 5)).toEqual([[], [], [], []])
    expect(await all({ taskId: 't', status: 'stopped' }, 5)).toEqual([[], [third], [oldest]])
    expect(await all({}, 5)).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4, 6), ids.slice(6)])
    expect((await all({}, 1)).flat()).toEqual(ids)
    // Those past their retention count, too.
    for (const id of ids.slice(0, 5)) await world.store.destroy(id, anyone)
    world.advance(RETENTION_MS)
    expect(await all({}, 5)).toEqual([[], [], ids.slice(5, 6), ids.slice(6)])
  })

  test('refuse a page that is none', async () => {
    const world = sandboxWorld(engines)
    const { sandboxId } = await world.create({ taskId: 't' })
    for (const after of ['', 'x', '#', '~'.repeat(2_000)]) {
      const field = 'page'
      await expect(world.store.list({ limit: 1, after })).rejects.toMatchObject({ field })
      await expect(world.store.list({ taskId: 't', limit: 1, after })).rejects.toMatchObject({ field })
      await expect(world.store.listSnapshots(sandboxId, { limit: 1, after })).rejects.toMatchObject({ field })
    }
  })
})
