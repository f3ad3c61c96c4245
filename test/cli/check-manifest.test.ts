import { existsSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
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
