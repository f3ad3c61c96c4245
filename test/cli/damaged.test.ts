import { existsSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DamagedContentError } from '../../cli/errors.ts'
import { describeFailure } from '../../cli/exit.ts'
import { type PullWorld, startPullWorld } from './support/pull-world.ts'
import { makeTree, readTree } from './support/tree.ts'

let world: PullWorld

beforeEach(async () => {
  world = await startPullWorld()
})

afterEach(() => world.stop())

test.each([[3], [5], [0]])(
  'a wrong size (%i) under the right key is told at once, and a push mends it',
  async (size) => {
    const { fake, give, put, pull, push, source, target } = world
    makeTree(source, { 'sub/a': 'four' })
    give([{ path: 'sub/a', ...put('four'), size, mode: 0o644 }])
    const { code, stderr } = await pull()
    expect(code).toBe(1)
    expect(stderr).toContain('The checkpoint is damaged; nothing was written')
    expect(stderr).toContain(`sub/a: the checkpoint says ${size} bytes, the content has 4`)
    expect(fake.requests).not.toContain('GET')
    expect(existsSync(target)).toBe(false)
    expect(await push()).toMatchObject({ code: 0, stdout: expect.not.stringContaining('nothing changed') })
    expect(await pull()).toMatchObject({ code: 0 })
    expect(readTree(target)).toEqual(readTree(source))
  },
)

test('names every file whose content the store does not have, and what to do', async () => {
  const { fake, give, put, pull, target } = world
  give([
    { path: 'one', ...put('x') },
    { path: 'two', ...put('x') },
    { path: 'other', ...put('y') },
    { path: 'there', ...put('z') },
  ])
  fake.blobs.delete(put('x').blobKey)
  fake.blobs.delete(put('y').blobKey)
  const { code, stderr } = await pull()
  expect(code).toBe(1)
  expect(stderr).toMatch(/content of 3 files; nothing was written.*pull another one/)
  expect(stderr).toMatch(/^ {2}one\n {2}two\n {2}other\n/m)
  expect(stderr).not.toContain('there')
  expect(existsSync(target)).toBe(false)
})

test('content that stays wrong is no missing network', () => {
  const failure = describeFailure(new DamagedContentError('A download came wrong.'))
  expect(failure).toMatchObject({ exitCode: 1, message: expect.stringMatching(/wrong\. Try again; if it stays so/) })
})
