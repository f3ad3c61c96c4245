import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { beforeEach, expect, test, vi } from 'vitest'
import { type OpenWorkspaceInput, openWorkspace } from '../../cli/open-workspace.ts'
import type { TestApi } from '../http/support/api.ts'
import { eachInWorld, type RunWorld } from './support/run-world.ts'
import { makeTree, readTree } from './support/tree.ts'

let api: TestApi
let world: RunWorld
eachInWorld((made, on) => {
  world = made
  api = on
})
beforeEach(() => {
  vi.stubEnv('HOME', world.path('home'))
  return () => {
    vi.unstubAllEnvs()
  }
})

const open = (dir: string, input: Partial<OpenWorkspaceInput> = {}) =>
  openWorkspace({ client: world.client, taskId: 't', dir: world.path(dir), ...input })
const sandboxes = async () => (await world.client.sandboxes.list()).sandboxes

test('a workspace begins where the last one ended, with its conversation', async () => {
  const first = await open('one', { profile: 'node', ttlSeconds: 60 })
  expect(first).toMatchObject({ path: world.path('one'), conversation: [], sandbox: { profile: 'node', taskId: 't' } })
  expect((first.sandbox.expiresAt ?? 0) - first.sandbox.createdAt).toBe(60_000)
  makeTree(first.path, { a: 'a', 'bin/run': { text: '#!', mode: 0o755 }, link: { link: 'a' } })
  expect(await first.save({ conversation: ['hello'] })).toMatchObject({ snapshotSeq: 1, reason: 'autosave' })
  // Nothing is new.
  expect(await first.save()).toMatchObject({ snapshotSeq: 1 })
  expect(await first.save({ reason: 'push', conversation: ['hello'] })).toMatchObject({
    snapshotSeq: 2,
    reason: 'push',
  })
  makeTree(first.path, { b: 'b' })
  expect(await first.close()).toMatchObject({ snapshotSeq: 3, reason: 'destroy', latest: true })
  expect(await world.client.sandboxes.get(first.sandbox.sandboxId)).toMatchObject({ status: 'destroyed' })
  expect(existsSync(first.path)).toBe(true)

  const second = await open('two')
  expect(second.conversation).toEqual(['hello'])
  expect(readTree(second.path)).toEqual(readTree(first.path))
  await second.close({ conversation: ['hello', 'again'] })
  expect((await open('three')).conversation).toEqual(['hello', 'again'])
})

test('saves that are asked for at once are done one after the other', async () => {
  let under = 0
  const client = world.clientWith('sandboxes', {
    async saveSnapshot(id, input) {
      under += 1
      expect(under).toBe(1)
      const saved = await world.client.sandboxes.saveSnapshot(id, input)
      under -= 1
      return saved
    },
  })
  const workspace = await open('one', { client })
  const saves = [1, 2, 3].map((n) => workspace.save({ conversation: [n] }))
  expect((await Promise.all(saves)).map(({ snapshotSeq }) => snapshotSeq)).toEqual([1, 2, 3])
  const manifest = await world.client.sandboxes.getSnapshot({
    sandboxId: workspace.sandbox.sandboxId,
    snapshotSeq: 3,
  })
  expect(manifest?.conversation).toEqual([3])
})

test('a run keeps what is saved beside the files, and so does the save of one that ended too long ago', async () => {
  const bytes = Buffer.from('report')
  const blobKey = `sandbox-artifacts/sha256/${createHash('sha256').update(bytes).digest('hex')}`
  await world.client.blobs.put(blobKey, bytes)
  const artifact = { artifactId: 'r', name: 'r.txt', mimeType: 'text/plain', size: 6, blobKey, createdAt: 1 }
  const { sandbox } = await world.client.sandboxes.create({ profile: 'p', taskId: 't' })
  await world.client.sandboxes.saveSnapshot(sandbox.sandboxId, {
    reason: 'stop',
    files: [],
    artifacts: [artifact],
    conversation: ['hello'],
  })
  expect((await world.run('echo a > a')).code).toBe(0)
  const after = await open('one')
  expect(after.conversation).toEqual(['hello'])
  await after.close()
  const snapshot = after.sandbox.restore ?? { sandboxId: '', snapshotSeq: 0 }
  expect(await world.client.sandboxes.getSnapshot(snapshot)).toMatchObject({ artifacts: [artifact] })

  const down = world.clientWith('sandboxes', { saveSnapshot: () => Promise.reject(new Error('down')) })
  const failed = await world.run('echo b > b', [], { client: down })
  const [, folder = ''] = /sandkeep save (\S+)/.exec(failed.stderr) ?? []
  const late = api.withOptions({ now: () => Date.now() + 2 * 86_400_000 }).client(world.scope)
  expect(await world.command(['save', folder], { client: late })).toMatchObject({ code: 0 })
  const last = await open('two')
  expect(last.conversation).toEqual(['hello'])
  expect(Object.keys(readTree(last.path))).toEqual(['.sandkeep', 'a', 'b'])
})

test('what cannot be kept is told, once', async () => {
  const notes: string[] = []
  const workspace = await open('one', { note: (text) => notes.push(text) })
  makeTree(workspace.path, { 'bad\\name': 'x', node_modules: { dir: true } })
  await workspace.save()
  await workspace.close()
  expect(notes).toEqual(['left out: bad\\name: the path holds a backslash'])
})

test('a folder with something in it is refused and not touched', async () => {
  const root = makeTree(world.path('full'), { mine: 'x', file: 'x' })
  for (const [dir, message] of [
    ['full', /is not empty\. The workspace needs a folder that is new or empty\./],
    ['full/file', /is not a folder/],
  ] as const) {
    const error = { code: 'invalid_input', field: 'dir', message: expect.stringMatching(message) }
    await expect(open(dir)).rejects.toMatchObject(error)
  }
  expect(Object.keys(readTree(root))).toEqual(['file', 'mine'])
  expect(await sandboxes()).toEqual([])
})

test('one that cannot be filled leaves neither a sandbox nor files', async () => {
  const first = await open('one')
  makeTree(first.path, { a: 'a' })
  await first.close()
  const client = world.clientWith('sandboxes', { snapshotDownloads: () => Promise.reject(new Error('down')) })
  await expect(open('two', { client })).rejects.toThrow('down')
  expect(readdirSync(world.path('two'))).toEqual([])
  expect((await sandboxes()).map(({ status }) => status)).toEqual(['destroyed', 'destroyed'])
  const noSandbox = world.clientWith('sandboxes', { create: () => Promise.reject(new Error('down')) })
  await expect(open('two', { client: noSandbox })).rejects.toThrow('down')
  expect(readdirSync(world.path('two'))).toEqual([])
})

test('one whose last save fails can be closed again', async () => {
  let fails = true
  const client = world.clientWith('sandboxes', {
    async saveSnapshot(id, input) {
      if (fails) throw new Error('down')
      return world.client.sandboxes.saveSnapshot(id, input)
    },
  })
  const workspace = await open('one', { client })
  makeTree(workspace.path, { a: 'a' })
  await expect(workspace.close({ conversation: [1] })).rejects.toThrow('down')
  expect(await world.client.sandboxes.get(workspace.sandbox.sandboxId)).toMatchObject({ status: 'running' })
  fails = false
  await workspace.close({ conversation: [1] })
  expect(await open('two')).toMatchObject({ conversation: [1] })
})
