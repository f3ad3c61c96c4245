import { createHash } from 'node:crypto'
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { NO_CONTENTS, WorkspaceSaver } from '../../cli/run/saver.ts'
import { type StatCache, statCache } from '../../cli/workspace/stat-cache.ts'
import { BlobsMissingError } from '../../src/errors.ts'
import type { TestApi } from '../http/support/api.ts'
import { eachInWorld, type RunWorld } from './support/run-world.ts'
import { makeTree, readTree } from './support/tree.ts'

let api: TestApi
let world: RunWorld
eachInWorld((made, on) => {
  world = made
  api = on
})

const MINUTE = 60_000
/** Others use the machine, too. */
const WAIT = { timeout: 30_000 }
const sandbox = async () => (await world.client.sandboxes.list()).sandboxes[0]
const snapshots = async () => {
  const found = await sandbox()
  return found ? (await world.client.sandboxes.listSnapshots(found.sandboxId)).snapshots : []
}
/** A command that does what stands in the files `step-…`, one after the other, until there is `end`. */
const STEPS = `n=1
while ! [ -e "$BASE/end" ]; do
  if [ -e "$BASE/step-$n.ready" ]; then sh "$BASE/step-$n"; echo > "$BASE/done-$n"; n=$((n+1)); fi
  sleep 0.02
done`
let steps = 0
beforeEach(() => {
  steps = 0
})
const start = (args: string[] = [], client = world.client) =>
  world.run(STEPS, ['--dir', 'w', ...args], { client, env: { BASE: world.base } })
async function step(script: string) {
  steps += 1
  makeTree(world.base, { [`step-${steps}`]: script })
  makeTree(world.base, { [`step-${steps}.ready`]: '' })
  await expect.poll(() => existsSync(world.path(`done-${steps}`)), WAIT).toBe(true)
}
const end = () => writeFileSync(world.path('end'), '')

describe('an autosave', () => {
  test('saves what has changed, and nothing else', async () => {
    const running = start()
    await step('echo 1 > a')
    world.timers.fire(MINUTE)
    await expect.poll(snapshots, WAIT).toHaveLength(1)
    const before = api.requests.length
    world.timers.fire(MINUTE)
    await step('cat a')
    expect(api.requests.slice(before)).toEqual([])
    await step('echo 2 > a; echo b > b')
    world.timers.fire(MINUTE)
    await expect.poll(snapshots, WAIT).toHaveLength(2)
    end()
    expect((await running).code).toBe(0)
    // All was saved by then.
    expect((await snapshots()).map(({ reason, latest }) => [reason, latest])).toEqual([
      ['autosave', false],
      ['autosave', true],
    ])
    const turn = await world.client.memory.getTurn({ taskId: 't', turn: 1 })
    expect(turn?.meta.snapshot_seq).toBe(2)
    expect(await world.artifact(1, 'workspace.diff')).toMatch(/^A a\nA b\n/)
  })

  test('is not begun while one is under way, and the last save waits for it', async () => {
    const gate = Promise.withResolvers<void>()
    let saves = 0
    const client = world.clientWith('sandboxes', {
      async saveSnapshot(id, input) {
        saves += 1
        await gate.promise
        return world.client.sandboxes.saveSnapshot(id, input)
      },
    })
    const running = start([], client)
    await step('echo 1 > a')
    world.timers.fire(MINUTE)
    await expect.poll(() => saves, WAIT).toBe(1)
    await step('echo 2 > a')
    world.timers.fire(MINUTE)
    world.timers.fire(MINUTE)
    end()
    gate.resolve()
    expect((await running).code).toBe(0)
    expect((await snapshots()).map(({ reason }) => reason)).toEqual(['autosave', 'destroy'])
    expect(saves).toBe(2)
  })

  test('that fails is told, and the next one saves', async () => {
    let fails = true
    const client = world.clientWith('sandboxes', {
      async saveSnapshot(id, input) {
        if (fails) throw new Error('no such luck')
        return world.client.sandboxes.saveSnapshot(id, input)
      },
    })
    let told = ''
    const running = world.run(STEPS, ['--autosave', '5m'], {
      client,
      env: { BASE: world.base },
      onStderr: (text) => {
        told = text
      },
    })
    await step('echo 1 > a')
    world.timers.fire(5 * MINUTE)
    await expect.poll(() => told, WAIT).toContain('sandkeep: an autosave failed: no such luck\n')
    fails = false
    world.timers.fire(5 * MINUTE)
    await expect.poll(snapshots, WAIT).toHaveLength(1)
    end()
    expect((await running).code).toBe(0)
  })

  test('does not happen where it is not wanted; the sandbox is renewed all the same', async () => {
    const running = start(['--autosave', '0s'])
    await step('echo 1 > a')
    expect(() => world.timers.fire(0)).toThrow()
    expect(() => world.timers.fire(MINUTE)).toThrow()
    const before = (await sandbox())?.expiresAt ?? 0
    world.timers.fire(60 * MINUTE)
    await expect.poll(async () => (await sandbox())?.expiresAt, WAIT).toBeGreaterThan(before)
    end()
    await running
    expect(await snapshots()).toHaveLength(1)
  })
})

describe('a save', () => {
  const saver = (
    root: string,
    sandboxId: string,
    client = world.client,
    note: (text: string) => void = () => undefined,
  ) =>
    new WorkspaceSaver({
      client,
      sandboxId,
      root,
      cache: statCache(world.path('cache'), root),
      begun: statCache(world.path('begun'), root),
      contents: NO_CONTENTS,
      signal: new AbortController().signal,
      note,
    })
  const create = async () => (await world.client.sandboxes.create({ profile: 'p', taskId: 't' })).sandbox.sandboxId

  test('of ten changed of 300 files reads and sends just those', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `d${index % 40}/f${index}`)
    const nodes = Object.fromEntries(names.map((name) => [name, name]))
    makeTree(world.path('seed'), nodes)
    const seeding = saver(world.path('seed'), await create())
    await seeding.save('push')

    const uploads: number[] = []
    const client = world.clientWith('blobs', {
      prepareUploads(blobs) {
        uploads.push(blobs.length)
        return world.client.blobs.prepareUploads(blobs)
      },
    })
    const running = start([], client)
    await step('true')
    // Nothing that was restored needs to be read again.
    const [folder = ''] = readdirSync(world.tmp)
    const [cache = ''] = readdirSync(`${world.tmp}/${folder}/cache`)
    expect(readFileSync(`${world.tmp}/${folder}/cache/${cache}`, 'utf8').trimEnd().split('\n')).toHaveLength(1 + 300)
    await step('for i in 0 1 2 3 4 5 6 7 8 9; do echo changed $i > d$i/f$i; done')
    const before = api.requests.length
    const opened = readTree(world.path('w'))
    world.timers.fire(MINUTE)
    await expect.poll(snapshots, WAIT).toHaveLength(1)
    const { sandboxId = '' } = (await sandbox()) ?? {}
    // As a push sends them, without its lease and its look at the head.
    expect(api.requests.slice(before).filter((request) => !request.startsWith('GET'))).toEqual([
      'POST /sandbox/checkpoints/v1/blobs/uploads',
      `POST /sandbox/sandboxes/v1/${sandboxId}/snapshots`,
    ])
    expect(uploads).toEqual([10])
    end()
    expect((await running).code).toBe(0)
    expect(readTree(world.path('w'))).toEqual(opened)
  })

  test('of a file that does not hold still keeps what was saved of it', async () => {
    const root = makeTree(world.path('r'), { calm: 'one', restless: 'one' })
    const notes: string[] = []
    let disturb = false
    const client = world.clientWith('blobs', {
      async prepareUploads(blobs) {
        const missing = await world.client.blobs.prepareUploads(blobs)
        // Between its hash and its upload, each time.
        if (disturb) writeFileSync(`${root}/restless`, `${Math.random()}`)
        return missing
      },
    })
    const saving = saver(root, await create(), client, (text) => notes.push(text))
    await saving.save('push')
    const [first] = saving.entries.filter(({ path }) => path === 'restless')
    makeTree(root, { calm: 'two', restless: 'three', new: 'new' })
    disturb = true
    await saving.autosave()
    expect(saving.entries.map(({ path }) => path)).toEqual(['calm', 'new', 'restless'])
    expect(saving.entries.find(({ path }) => path === 'restless')).toEqual(first)
    expect(notes).toEqual(['not saved as it is now: restless: it keeps changing while it is read'])
    disturb = false
    expect(await saving.autosave()).toMatchObject({ snapshotSeq: 3 })
    expect(saving.entries.find(({ path }) => path === 'restless')).not.toEqual(first)
  })

  test('waits for the one under way', async () => {
    const root = makeTree(world.path('r'), { a: 'a' })
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const client = world.clientWith('sandboxes', {
      async saveSnapshot(id, input) {
        begun.push(input.reason)
        await gate.promise
        return world.client.sandboxes.saveSnapshot(id, input)
      },
    })
    const saving = saver(root, await create(), client)
    const autosaved = saving.autosave()
    await expect.poll(() => begun, WAIT).toEqual(['autosave'])
    makeTree(root, { b: 'b' })
    const saved = saving.save('destroy')
    // Time enough for a save that does not wait.
    for (let round = 0; round < 3; round += 1) await saver(root, await create()).save('push')
    expect(begun).toEqual(['autosave'])
    gate.resolve()
    expect([(await autosaved)?.snapshotSeq, (await saved).snapshotSeq]).toEqual([1, 2])
  })

  test('takes for the last one no file for unchanged that was read since the command began', async () => {
    const root = makeTree(world.path('r'), { db: 'one' })
    // What is written through a memory map may leave all times as they were.
    const sha256 = createHash('sha256').update('one').digest('hex')
    const cache: StatCache = {
      async *along(files) {
        for (const file of files) yield [file, () => sha256]
      },
      save: async () => undefined,
    }
    const sandboxId = await create()
    await world.client.blobs.put(`sandbox-files/sha256/${sha256}`, Buffer.from('one'))
    const saving = new WorkspaceSaver({
      ...{ client: world.client, sandboxId, root, cache, contents: NO_CONTENTS, note: () => undefined },
      begun: statCache(world.path('begun'), root),
      signal: new AbortController().signal,
    })
    await saving.autosave()
    writeFileSync(`${root}/db`, 'two')
    expect(await saving.autosave()).toBeNull()
    expect(await saving.save('destroy')).toMatchObject({ snapshotSeq: 2 })
    expect(await saving.save('destroy')).toMatchObject({ snapshotSeq: 2 })
  })

  test('uploads anew what is not there any more', async () => {
    const root = makeTree(world.path('r'), { a: 'a', b: 'b' })
    // What is taken for saved was saved elsewhere.
    const elsewhere = saver(root, await create())
    await elsewhere.save('push')
    const client = api.client()
    const { sandbox: other } = await client.sandboxes.create({ profile: 'p' })
    const saving = new WorkspaceSaver({
      client,
      sandboxId: other.sandboxId,
      root,
      cache: statCache(world.path('cache'), root),
      begun: statCache(world.path('begun'), root),
      contents: { ...NO_CONTENTS, files: elsewhere.entries },
      signal: new AbortController().signal,
      note: () => undefined,
    })
    expect(await saving.save('push')).toMatchObject({ snapshotSeq: 1 })
    const manifest = await client.sandboxes.getSnapshot({ sandboxId: other.sandboxId, snapshotSeq: 1 })
    expect(manifest?.files).toEqual(elsewhere.entries)
  })

  test('asks for all when something was swept meanwhile, and keeps what was saved of a file that does not hold still', async () => {
    const root = makeTree(world.path('r'), { calm: 'one', restless: 'one', same: 'same' })
    const asked: number[] = []
    let disturb = false
    const client = world.clientWith('blobs', {
      async prepareUploads(blobs) {
        asked.push(blobs.length)
        const missing = await world.client.blobs.prepareUploads(blobs)
        if (disturb) writeFileSync(`${root}/restless`, `${Math.random()}`)
        return missing
      },
    })
    let swept: string[] = []
    const saveSnapshot = client.sandboxes.saveSnapshot.bind(client.sandboxes)
    client.sandboxes.saveSnapshot = async (id, input) => {
      if (swept.length === 0) return saveSnapshot(id, input)
      const keys = swept
      swept = []
      throw new BlobsMissingError(keys)
    }
    const saving = saver(root, await create(), client)
    await saving.save('push')
    const before = saving.entries
    makeTree(root, { calm: 'two', restless: 'other' })
    disturb = true
    asked.length = 0
    swept = [`sandbox-files/sha256/${'0'.repeat(64)}`]
    expect(await saving.autosave()).toMatchObject({ snapshotSeq: 2 })
    expect(saving.entries.map(({ path }) => path)).toEqual(['calm', 'restless', 'same'])
    expect(saving.entries.slice(1)).toEqual(before.slice(1))
    // The two that changed, then all three.
    expect([asked[0], asked.includes(3)]).toEqual([2, true])

    // What is told to be missing stands for nothing.
    makeTree(root, { calm: 'three' })
    swept = before.flatMap((entry) => (entry.kind === 'file' && entry.path === 'restless' ? [entry.blobKey] : []))
    expect(await saving.autosave()).toMatchObject({ snapshotSeq: 3 })
    expect(saving.entries.map(({ path }) => path)).toEqual(['calm', 'same'])
  })

  test('leaves out what cannot be read, and tells it once', async () => {
    const root = makeTree(world.path('r'), { a: 'a' })
    const notes: string[] = []
    const saving = saver(root, await create(), world.client, (text) => notes.push(text))
    makeTree(root, { 'bad\\name': 'x' })
    await saving.save('push')
    makeTree(root, { b: 'b' })
    chmodSync(`${root}/a`, 0o600)
    await saving.save('push')
    expect(notes).toEqual(['left out: bad\\name: the path holds a backslash'])
    expect(saving.entries.map(({ path }) => path)).toEqual(['a', 'b'])
  })
})
