import { existsSync, readdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { holdFolder, inFolder } from '../../cli/workspace/in-folder.ts'
import { type PullWorld, startPullWorld } from './support/pull-world.ts'
import { makeTree, readTree } from './support/tree.ts'

let world: PullWorld
let outside: string

beforeEach(async () => {
  world = await startPullWorld()
  outside = makeTree(join(world.base, 'outside'), { 'sub/theirs': { text: 'theirs', mode: 0o600 } })
  makeTree(world.target, { 'a/sub/mine': 'mine' })
})

afterEach(() => world.stop())

/** What a hostile process does: the folder gives way to a link to another one. */
function exchange(): void {
  renameSync(join(world.target, 'a'), join(world.target, 'moved'))
  symlinkSync(outside, join(world.target, 'a'))
}

test('work goes on in the folder that it began in, wherever its path leads by then', async () => {
  const before = readTree(outside)
  const work = inFolder(world.target, 'a/sub', async (path) => {
    exchange()
    await writeFile(`${path}/theirs`, 'ours')
    await chmod(`${path}/theirs`, 0o777)
  })
  // Without handles the exchange is found only afterwards.
  if (process.platform === 'linux') await work
  else await expect(work).rejects.toThrow('was exchanged')
  expect(process.platform !== 'linux' || readFileSync(join(world.target, 'moved/sub/theirs'), 'utf8')).toBeTruthy()
  if (process.platform === 'linux') expect(readTree(outside)).toEqual(before)
})

test.each(['a', 'a/sub', 'a/sub/mine', 'none'])('nothing is done in %s once it is no real folder', async (folder) => {
  exchange()
  let ran = false
  const work = inFolder(world.target, folder, async () => {
    ran = true
  })
  await expect(work).rejects.toThrow(`The folder ${folder} was exchanged`)
  expect(ran).toBe(false)
  expect(() => holdFolder(world.target, folder).close()).toThrow('was exchanged')
})

test('errors name the path that the caller knows', async () => {
  const work = inFolder(world.target, 'a', (path) => writeFile(`${path}/none/x`, ''))
  await expect(work).rejects.toMatchObject({ code: 'ENOENT', path: join(world.target, 'a/none/x') })
})

test.each([[[]], [['--delete']]])('a pull writes and removes nothing outside, %j', async (options) => {
  const { fake, give, put, pull, target } = world
  makeTree(target, { 'a/sub/theirs': { text: 'theirs', mode: 0o644 }, 'a/extra': 'x' })
  makeTree(outside, { extra: 'x' })
  give([
    { path: 'a/sub/mine', ...put('new') },
    { path: 'a/sub/theirs', ...put('theirs'), mode: 0o755 },
    { path: 'a/link', kind: 'symlink', target: 'x' },
    { path: 'a/new/folder', kind: 'dir' },
  ])
  const before = readTree(outside)
  fake.intercept = () => {
    if (!existsSync(join(target, 'moved'))) exchange()
    return false
  }
  const { code, stderr } = await pull(...options)
  expect(code).toBe(1)
  expect(stderr).toMatch(/came there meanwhile|was exchanged/)
  expect(readTree(outside)).toEqual(before)
  expect(readdirSync(target).filter((name) => name.startsWith('.sandkeep'))).toEqual([])
})

test('what lies ready is not written to where the staging folder seems to be', async () => {
  const { fake, give, put, pull, target } = world
  give([{ path: 'new', ...put('new') }])
  const before = readTree(outside)
  fake.intercept = () => {
    const staging = readdirSync(target).find((name) => name.startsWith('.sandkeep')) ?? ''
    renameSync(join(target, staging), join(target, 'moved'))
    symlinkSync(outside, join(target, staging))
    return false
  }
  const { code } = await pull()
  expect(readTree(outside)).toEqual(before)
  if (process.platform === 'linux') expect(code).toBe(0)
})
