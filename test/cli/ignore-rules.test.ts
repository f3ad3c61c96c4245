import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { scanWorkspace } from '../../cli/workspace/scan.ts'
import { makeTree, type Node, temporaryFolder } from './support/tree.ts'

let root: string

beforeEach(() => {
  root = temporaryFolder()
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

/** The files that git would take, by its own reading of the rules. */
function filesOfGit(folder: string): string[] {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, ...args], { env: { PATH: process.env.PATH, HOME: folder }, encoding: 'utf8' })
  git('init', '-q')
  return git('ls-files', '-z', '--others', '--exclude-standard').split('\0').slice(0, -1).sort()
}

async function filesOfScan(folder: string): Promise<string[]> {
  const { entries } = await scanWorkspace(folder)
  return entries.filter(({ kind }) => kind !== 'dir').map(({ path }) => path)
}

describe('.gitignore is read as git reads it', () => {
  const files = [
    'a',
    'a.log',
    'b',
    'B',
    'x/a',
    'x/a.log',
    'x/b',
    'x/y/a',
    'x/y/b.log',
    'x/y/z/a',
    '#h',
    '!n',
    'sp ',
    'x/[q]/a',
    'x/[q]/b',
  ]
  const tree = (rules: Record<string, string>) => ({
    ...Object.fromEntries(files.map((file) => [file, 'x'])),
    ...rules,
  })

  test.each<[string, Record<string, string>]>([
    ['names and globs at any depth', { '.gitignore': '*.log\nb\n' }],
    ['letter case counts', { '.gitignore': 'B\n' }],
    ['a leading slash ties to the folder', { '.gitignore': '/a\n', 'x/.gitignore': '/b\n' }],
    ['a slash in the middle ties too', { '.gitignore': 'y/a\nx/y\n' }],
    ['a trailing slash means folders', { '.gitignore': 'a/\ny/\n' }],
    ['a folder that is excluded hides what negation would take back', { '.gitignore': 'x/\n!x/a\n' }],
    ['negation in the same file', { '.gitignore': 'x/*\n!x/a\n' }],
    ['a deeper file takes back', { '.gitignore': '*.log\ny/\n', 'x/.gitignore': '!y/\n!a.log\n' }],
    [
      'a folder that a deeper file took back keeps the other rules',
      { '.gitignore': 'y\n*.log\n', 'x/.gitignore': '!y\n' },
    ],
    ['comments, blank lines, escapes and carriage returns', { '.gitignore': '# b\n\n   \n\\#h\r\n\\!n\nsp\\ \n' }],
    ['trailing spaces fall away', { '.gitignore': 'b   \n', 'x/.gitignore': 'a  \n   \n' }],
    ['double stars', { '.gitignore': '**/y/a\nx/**/b.log\n' }],
    ['folder names that look like patterns', { 'x/[q]/.gitignore': 'a\n/b\n!b\n' }],
    ['a byte order mark', { '.gitignore': '\uFEFFb\n' }],
    ['everything but', { '.gitignore': '/*\n!/x\n/x/*\n!/x/y\n!.gitignore\n' }],
    ['a lone slash and a lone bang', { '.gitignore': '/\n!\nb\n', 'x/.gitignore': '/\n!\nb\n' }],
  ])('%s', async (_name, rules) => {
    makeTree(root, tree(rules))
    expect(await filesOfScan(root)).toEqual(filesOfGit(root))
  })

  test('random rules in three folders', async () => {
    const name = fc.constantFrom('a', 'b', 'x', 'y', 'z', '*', '*.log', 'a*', '**', '?')
    const rule = fc
      .record({
        not: fc.boolean(),
        lead: fc.boolean(),
        parts: fc.array(name, { minLength: 1, maxLength: 3 }),
        trail: fc.boolean(),
      })
      .map(({ not, lead, parts, trail }) => `${not ? '!' : ''}${lead ? '/' : ''}${parts.join('/')}${trail ? '/' : ''}`)
    const file = fc.array(rule, { maxLength: 4 }).map((lines) => `${lines.join('\n')}\n`)
    await fc.assert(
      fc.asyncProperty(file, file, file, async (top, middle, deep) => {
        rmSync(root, { recursive: true, force: true })
        makeTree(root, tree({ '.gitignore': top, 'x/.gitignore': middle, 'x/y/.gitignore': deep }))
        expect(await filesOfScan(root)).toEqual(filesOfGit(root))
      }),
      { numRuns: 60, seed: 20_251_130 },
    )
  })
})

test('.sandkeepignore wins over .gitignore of its folder, not over a deeper one', async () => {
  makeTree(root, {
    '.gitignore': 'dist\n',
    '.sandkeepignore': '!dist\n*.tmp\n',
    'dist/out': 'x',
    'a.tmp': 'x',
    'sub/.gitignore': '!keep.tmp\n',
    'sub/keep.tmp': 'x',
  })
  expect(await filesOfScan(root)).toEqual([
    '.gitignore',
    '.sandkeepignore',
    'dist/out',
    'sub/.gitignore',
    'sub/keep.tmp',
  ])
})

test('nothing takes back what the fixed rules leave out', async () => {
  const nodes: Record<string, Node> = {
    '.gitignore': '!.env\n!node_modules\n',
    '.env': 's',
    '.envrc': 's',
    'a/.env.x/b': 's',
  }
  makeTree(root, { ...nodes, 'a/node_modules': { link: '/' }, '.git': 'gitdir: elsewhere' })
  const { entries, skipped } = await scanWorkspace(root)
  expect(entries).toMatchObject([{ path: '.gitignore' }, { path: 'a', kind: 'dir', empty: true }])
  expect(skipped.map(({ path }) => path).sort()).toEqual(['.env', '.envrc', '.git', 'a/.env.x', 'a/node_modules'])
})

test('a rule file that is a link is kept as a link and not read', async () => {
  makeTree(root, { rules: 'a\n', '.gitignore': { link: 'rules' }, a: 'x' })
  expect(await filesOfScan(root)).toEqual(['.gitignore', 'a', 'rules'])
})
