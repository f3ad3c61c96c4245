import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type PullWorld, startPullWorld } from './support/pull-world.ts'
import { makeTree, readTree } from './support/tree.ts'

let world: PullWorld

beforeEach(async () => {
  world = await startPullWorld()
})

afterEach(() => world.stop())

describe('what stands where the checkpoint has a folder', () => {
  test('is removed only with --delete', async () => {
    const { give, put, pull, target, base } = world
    makeTree(target, { notes: 'mine', link: { link: base }, 'sub/deep': 'mine' })
    give([
      { path: 'notes/a', ...put('a') },
      { path: 'link/b', ...put('b') },
      { path: 'sub/deep/er', kind: 'dir' },
    ])
    const before = readTree(target)
    const { code, stderr } = await pull()
    expect(code).toBe(1)
    for (const path of ['notes', 'link', 'sub/deep']) expect(stderr).toContain(`${path} is there: use --delete`)
    expect(readTree(target)).toEqual(before)
    expect(await pull('--delete')).toMatchObject({ code: 0 })
    expect(Object.keys(readTree(target))).toEqual([
      'link',
      'link/b',
      'notes',
      'notes/a',
      'sub',
      'sub/deep',
      'sub/deep/er',
    ])
  })

  test.each([
    ['data\n', 'data', 'data/x'],
    ['build/\n', 'build/data', 'build/data/x'],
  ])('is never removed when a push leaves it out (%j)', async (rules, mine, theirs) => {
    const { give, put, pull, target } = world
    makeTree(target, { '.gitignore': rules, [mine]: 'mine' })
    give([{ path: theirs, ...put('x') }])
    for (const options of [[], ['--delete']]) {
      const { code, stderr } = await pull(...options)
      expect(code).toBe(1)
      expect(stderr).toContain(`${mine} is there, which a push leaves out`)
      expect(readFileSync(join(target, mine), 'utf8')).toBe('mine')
    }
  })

  test('a folder in an ignored folder is not cleared for a file either', async () => {
    const { give, put, pull, target } = world
    makeTree(target, { '.gitignore': 'build/\n', 'build/data/mine': 'mine' })
    give([{ path: 'build/data', ...put('x') }])
    expect(await pull('--delete')).toMatchObject({ code: 1 })
    expect(readFileSync(join(target, 'build/data/mine'), 'utf8')).toBe('mine')
  })
})

describe('what earlier rules left out', () => {
  const mine = {
    '.gitignore': '*.log\nbuild/\n',
    'p.log': 'mine',
    'build/out': 'mine',
    'sub/q.log': 'mine',
    extra: 'x',
  }
  const left = ['p.log', 'build/out', 'sub/q.log']

  test.each([
    ['replaced', true],
    ['removed', false],
  ])('outlives every later --delete, when the rule file was %s', async (_how, hasRules) => {
    const { give, put, pull, target } = world
    makeTree(target, mine)
    give([{ path: 'a', ...put('a') }, ...(hasRules ? [{ path: '.gitignore', ...put('# none') }] : [])])
    for (let run = 0; run < 3; run += 1) {
      expect(await pull('--delete')).toMatchObject({ code: 0 })
      for (const path of left) expect(readFileSync(join(target, path), 'utf8')).toBe('mine')
      expect(existsSync(join(target, 'extra'))).toBe(false)
    }
    give([{ path: 'build', ...put('a file') }])
    expect(await pull('--delete')).toMatchObject({ code: 1, stderr: expect.stringContaining('move it away first') })
    expect(readFileSync(join(target, 'build/out'), 'utf8')).toBe('mine')
  })

  test('outlives a --delete after a pull that only brought the rules', async () => {
    const { give, put, pull, target } = world
    makeTree(target, mine)
    give([{ path: '.gitignore', ...put('# none') }])
    expect(await pull()).toMatchObject({ code: 0 })
    expect(await pull('--delete')).toMatchObject({ code: 0 })
    for (const path of left) expect(readFileSync(join(target, path), 'utf8')).toBe('mine')
  })

  test('is protected no more once a checkpoint has it', async () => {
    const { fake, give, put, pull, sandkeep, target } = world
    makeTree(target, mine)
    give([{ path: '.gitignore', ...put('# none') }])
    expect(await pull('--delete')).toMatchObject({ code: 0 })
    give([
      { path: '.gitignore', ...put('# none') },
      { path: 'p.log', ...put('theirs') },
    ])
    expect(await pull('--delete')).toMatchObject({ code: 0 })
    give([{ path: '.gitignore', ...put('# none') }])
    expect(await pull('--delete')).toMatchObject({ code: 0 })
    expect(existsSync(join(target, 'p.log'))).toBe(false)
    expect(existsSync(join(target, 'sub/q.log'))).toBe(true)
    expect(await sandkeep('push', target, '--thread', 'main')).toMatchObject({ code: 0 })
    expect(fake.checkpoints.get(fake.heads.get('main') ?? '')?.files).toContainEqual(
      expect.objectContaining({ path: 'sub/q.log' }),
    )
    give([{ path: '.gitignore', ...put('# none') }])
    expect(await pull('--delete')).toMatchObject({ code: 0 })
    expect(Object.keys(readTree(target))).toEqual(['.gitignore'])
  })

  test('is not put at risk when it cannot be remembered, or when the record is damaged', async () => {
    const { base, give, put, pull, target } = world
    const before = readTree(makeTree(target, mine))
    give([{ path: '.gitignore', ...put('# none') }])
    makeTree(join(base, 'home'), { '.local/state': 'a file' })
    expect(await pull('--delete')).toMatchObject({ code: 1, stderr: expect.stringContaining('XDG_STATE_HOME') })
    expect(readTree(target)).toEqual(before)
    rmSync(join(base, 'home/.local/state'))
    expect(await pull('--delete')).toMatchObject({ code: 0 })
    const folder = join(base, 'home/.local/state/sandkeep')
    for (const name of readdirSync(folder)) writeFileSync(join(folder, name), '{')
    expect(await pull('--delete')).toMatchObject({ code: 1, stderr: expect.stringContaining('damaged') })
    expect(existsSync(join(target, 'p.log'))).toBe(true)
  })
})

test('an empty checkpoint makes an empty folder', async () => {
  const { give, pull, target } = world
  give([])
  expect(await pull()).toMatchObject({ code: 0 })
  expect(lstatSync(target).isDirectory()).toBe(true)
  expect(readdirSync(target)).toEqual([])
})
