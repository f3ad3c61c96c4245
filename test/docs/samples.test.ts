import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Block, shownCommands } from '../../scripts/docs/blocks.ts'
import { HOME, isAsShown, makeShellWorld, runShell, type ShellPart, type ShellWorld } from '../../scripts/docs/shell.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { checkCommand, commandsOf, contextOf } from './support/commands.ts'
import { type Page, ROOT, readPages, useOf } from './support/pages.ts'
import { compile, runSamples, writeSamples } from './support/typescript.ts'

vi.setConfig({ testTimeout: 120_000 })
const pages = readPages()
const withBlocks = pages.filter(({ blocks }) => blocks.length > 0)
const hasRestic = spawnSync('restic', ['version']).status === 0

let stack: LocalStack
let folder: string
let world: ShellWorld
beforeAll(async () => {
  stack = await startLocalStack()
  folder = mkdtempSync(path.join(tmpdir(), 'sandkeep-docs-'))
  world = makeShellWorld(folder, stack)
}, 180_000)
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await stack.stop()
})

const shells = ({ blocks }: Page) => blocks.filter(({ language }) => language === 'sh' || language === 'console')
const isRun = (block: Block) => useOf(block) === 'run' && (!block.marks.includes('restic') || hasRestic)

test('there are samples', () => {
  expect(pages.map(({ name }) => name)).toContain('README.md')
  expect(withBlocks.flatMap(shells).length).toBeGreaterThan(20)
})

test.for(withBlocks)('each block of $name says what it is, and is run or says why not', ({ blocks }) => {
  const wrong = blocks.flatMap((block) => {
    try {
      useOf(block)
      return []
    } catch (error) {
      return [`line ${block.line}: ${error}`]
    }
  })
  expect(wrong).toEqual([])
})

test.for(pages.filter((page) => shells(page).some(isRun)))('the commands of $name do what they say', async (page) => {
  const cwd = path.join(folder, 'pages', page.name, 'my-app')
  mkdirSync(path.dirname(cwd), { recursive: true })
  cpSync(path.join(import.meta.dirname, 'fixtures'), cwd, { recursive: true })
  const parts = shells(page).filter(isRun).flatMap(partsOf)
  const project = page.name.replaceAll(/\W/g, '-')
  const { outputs, code } = await runShell(parts, cwd, { ...world.env, SANDBOX_PROJECT: project })
  const last = outputs.length - 1
  expect(code, `line ${parts[last]?.line}: ${parts[last]?.command}\n${outputs[last]}`).toBe(0)
  expect(outputs).toHaveLength(parts.length)
  for (const [index, { command, output, line }] of parts.entries()) {
    const actual = outputs[index]?.replaceAll(path.dirname(cwd), HOME) ?? ''
    if (output !== undefined && !isAsShown(actual, output)) expect(actual, `line ${line}: ${command}`).toBe(output)
  }
})

interface PagePart extends ShellPart {
  line: number
  /** What the page says that it prints. */
  output?: string
}

function partsOf({ language, line, text }: Block): PagePart[] {
  if (language === 'sh') return [{ command: text, mayFail: false, line }]
  return shownCommands(text).map((shown) => ({ ...shown, mayFail: true, line }))
}

/** Commands that are not run, and those of the languages that are: they are named rightly in any case. */
const checked = withBlocks.flatMap((page) =>
  shells(page)
    .filter((block) => useOf(block) === 'check')
    .map((block) => ({ name: page.name, line: block.line, commands: commandsOf(block.text) })),
)

test.for(checked)('what is not run of $name at line $line exists', ({ commands }) => {
  expect(commands.length).toBeGreaterThan(0)
  for (const words of commands) checkCommand(words)
})

/** What is given to the app with `-c`. */
const contexts = checked
  .flatMap(({ commands }) => commands.map(contextOf))
  .filter((each) => Object.keys(each).length > 0)

test('the programs are right, and run; the app takes the context that is given to it', async () => {
  const samples = path.join(folder, 'samples')
  const files = writeSamples(samples, pages)
  expect(await compile(samples)).toBe('')
  const cwd = path.join(folder, 'programs')
  cpSync(path.join(import.meta.dirname, 'fixtures'), cwd, { recursive: true })
  expect(await runSamples(samples, { files, contexts: distinct(contexts) }, { cwd, env: world.env })).toBe('')
  const app = readFileSync(path.join(ROOT, 'bin/sandkeep.ts'), 'utf8')
  for (const name of contexts.flatMap(Object.keys)) expect(app).toContain(`tryGetContext('${name}')`)
})

function distinct(values: readonly Record<string, string>[]): Record<string, string>[] {
  return [...new Set(values.map((value) => JSON.stringify(value)))].map((text) => JSON.parse(text))
}

test.for(pages)('the links of $name lead somewhere', ({ name, text }) => {
  const prose = text.replaceAll(/^( *)(`{3,})[\s\S]*?^\1\2$/gm, '')
  const broken = [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^https?:/.test(target))
    .filter((target) => {
      const [file = '', anchor] = target.split('#')
      const full = path.join(path.dirname(name), file)
      if (anchor === undefined) return !existsSync(path.join(ROOT, full))
      const page = file === '' ? text : pages.find((each) => each.name === full)?.text
      return !headings(page ?? '').includes(anchor)
    })
  expect(broken).toEqual([])
})

/** The anchors of a page's headings. */
function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
