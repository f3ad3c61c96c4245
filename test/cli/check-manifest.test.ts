import { existsSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkManifest } from '../../cli/workspace/check-manifest.ts'
import { type PullWorld, startPullWorld } from './support/pull-world.ts'
import { makeTree, readTree } from './support/tree.ts'

let world: PullWorld

beforeEach(async () => {
  world = await startPullWorld()
})

afterEach(() => world.stop())

test.each([
  ['.git/hooks/pre-commit'],
  ['.git'],
  ['sub/.GIT/config'],
  ['.git./config'],
  ['.git /config'],
  ['.git . ./config'],
  ['.git::$INDEX_ALLOCATION/config'],
  ['.git:stream'],
  ['git~1/config'],
  ['GIT~2/config'],
  ['.g\u200cit/config'],
  ['\ufeff.git/config'],
  ['.g\u00adit/config'],
  ['node_modules/p/index.js'],
  ['lib/Node_Modules/p'],
  ['node_modules.'],
  ['NODE_M~1/p'],
  ['.env'],
  ['lib/.ENV.local'],
  ['.envrc'],
  ['.\u200denv'],
  ['env~1'],
])('pull never writes %j, which a push always leaves out', async (path) => {
  const { give, put, pull, target } = world
  give([
    { path: 'good', ...put('good') },
    { path, ...put('evil'), mode: 0o755 },
  ])
  for (const options of [[], ['--delete'], ['--no-external-links']]) {
    const outcome = await pull(...options)
    expect(outcome).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing was written') })
    expect(outcome.stderr).toContain('a push always leaves out')
    expect(existsSync(target)).toBe(false)
  }
  give([{ path, kind: path.length % 2 ? 'dir' : 'symlink', target: 'x' }])
  expect((await pull()).code).toBe(1)
})

test('what a push keeps, a pull brings back: names near to the fixed ones', async () => {
  const { push, pull, source, target } = world
  makeTree(source, {
    '.gitignore': '',
    '.github/x': 'x',
    'git/x': 'x',
    env: 'x',
    'git~': 'x',
    'x.git/y': 'x',
    node_modules2: 'x',
    'sub/.GIT/config': 'left out',
    'sub/.Env': 'left out',
  })
  expect((await push()).code).toBe(0)
  expect((await pull()).code).toBe(0)
  expect(Object.keys(readTree(target)).filter((path) => !['.github', 'git', 'sub', 'x.git'].includes(path))).toEqual(
    ['.github/x', '.gitignore', 'env', 'git/x', 'git~', 'node_modules2', 'x.git/y'].sort(),
  )
})

test.each<[string, string, Record<string, string>]>([
  ['a name of more than 255 bytes', `a/${'\u00e9'.repeat(128)}`, {}],
  ['a path of more than 4,096 bytes', `${'abc/'.repeat(1_024)}d`, {}],
  ['a path that is too long below this folder', `${'abc/'.repeat(1_023)}d`, {}],
  ['a link target of more than 4,095 bytes', 'link', { kind: 'symlink', target: '\u00e9'.repeat(2_048) }],
])('refuses %s before anything is written', async (_what, path, more) => {
  const { give, put, pull, target } = world
  give([
    { path: 'good', ...put('good') },
    { path, ...put('x'), ...more },
  ])
  const { code, stderr } = await pull()
  expect(code).toBe(1)
  expect(stderr).toMatch(/too long|more than 255 bytes/)
  expect(Math.max(...stderr.split('\n').map((line) => line.length))).toBeLessThan(300)
  expect(existsSync(target)).toBe(false)
})

test('the longest names and link targets come back', async () => {
  const { give, put, pull, target } = world
  const longest = { link: { path: 'l', kind: 'symlink', target: 'x/'.repeat(2_047) }, name: '\u00e9'.repeat(127) }
  give([longest.link, { path: `${longest.name}/${'x'.repeat(255)}`, ...put('x') }])
  expect(await pull()).toMatchObject({ code: 0 })
  expect(readlinkSync(join(target, 'l'))).toBe(longest.link.target)
  expect(existsSync(join(target, longest.name, 'x'.repeat(255)))).toBe(true)
})

test.each([
  [8_000, 250],
  [2_000, 250],
])('paths of %i parts cost little', (parts, count) => {
  const path = (index: number) => `${'a/'.repeat(parts - 1)}${index}`
  const entries = Array.from({ length: count }, (_, index) => ({ path: path(index), kind: 'dir' as const }))
  const startedAt = performance.now()
  if (parts > 2_048) expect(() => checkManifest('/t', entries)).toThrow('cannot be restored safely')
  else checkManifest('/t', entries)
  expect(performance.now() - startedAt).toBeLessThan(1_000)
})

test('links of the target count as ways out, unless the checkpoint replaces them', async () => {
  const { base, give, put, pull, target } = world
  const outside = makeTree(join(base, 'outside'), { secret: 'theirs' })
  makeTree(target, { out: { link: outside }, sub: { dir: true } })
  symlinkSync('../..', join(target, 'sub/up'))
  const link = (path: string, to: string) => ({ path, kind: 'symlink', target: to })
  for (const links of [
    [link('a', 'out/secret')],
    [link('a', 'out')],
    [link('a', 'sub/up/outside')],
    [link('a', 'b/secret'), link('b', 'out')],
  ]) {
    give(links)
    expect(await pull('--no-external-links')).toMatchObject({ code: 1, stderr: expect.stringContaining('lead out') })
    expect(existsSync(join(target, 'a'))).toBe(false)
  }
  give([link('a', 'out/secret'), link('out', 'sub')])
  expect(await pull('--no-external-links')).toMatchObject({ code: 0 })
  rmSync(join(target, 'sub/up'))
  give([link('a', 'sub/up/secret'), { path: 'sub/up/secret', ...put('ours') }])
  expect(await pull('--no-external-links')).toMatchObject({ code: 0 })
})
