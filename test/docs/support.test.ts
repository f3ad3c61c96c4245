import { expect, test } from 'vitest'
import { codeBlocks, shownCommands } from '../../scripts/docs/blocks.ts'
import { isAsShown } from '../../scripts/docs/shell.ts'
import { checkCommand, commandsOf } from './support/commands.ts'
import { useOf } from './support/pages.ts'

test('blocks are found wherever they stand', () => {
  const page = `# Page

\`\`\`sh npm
npm ci
\`\`\`

    indented

* item

  \`\`\`\`ts client
  const fence = '\`\`\`'
    more
  \`\`\`\`

      in a list
`
  expect(codeBlocks(page)).toEqual([
    { line: 4, language: 'sh', marks: ['npm'], text: 'npm ci' },
    { line: 7, language: '', marks: [], text: 'indented' },
    { line: 12, language: 'ts', marks: ['client'], text: "const fence = '```'\n  more" },
  ])
})

test.for([
  ['run', 'sh', []],
  ['run', 'sh', ['restic']],
  ['run', 'console', []],
  ['run', 'ts', ['client']],
  ['check', 'sh', ['aws']],
  ['show', 'http', []],
] as const)('a block is %s as %s %s', ([use, language, marks]) => {
  expect(useOf({ line: 1, language, marks: [...marks], text: '' })).toBe(use)
})

test.for([
  ['', []],
  ['bash', []],
  ['python', []],
  ['sh', ['later']],
  ['ts', ['aws']],
  ['text', ['aws']],
] as const)('a block of "%s %s" is refused', ([language, marks]) => {
  expect(() => useOf({ line: 1, language, marks: [...marks], text: '' })).toThrow()
})

test.for([
  'npx sandkeep push . --thread first',
  'SANDBOX_TENANT=acme sandkeep run --task t -- sh -c "exit 1"',
  'npm ci && npm test',
  'npm install aws-cdk constructs',
  'npm run deploy -- -c stage=dev',
  'aws dynamodb restore-table-to-point-in-time --source-table-name A --target-table-name B',
])('`%s` is right', (script) => {
  for (const words of commandsOf(script)) checkCommand(words)
})

test.for([
  'sandkeep pish',
  'sandkeep push --lable x',
  'sandkeep push a b',
  'sandkeep prune',
  'sandkeep show',
  'sandkeep memory get task-42',
  'npm run no-such-script',
  'npm install sandkeeper',
  'npm install zod ./sandkeep-0.0.1.tgz',
  'cdk deply',
  'aws dynamodb restore-table',
  'aws dynamodb restore-table-to-point-in-time --source-tabel-name A',
  'rm -rf /',
])('`%s` is refused', (script) => {
  expect(() => commandsOf(script).map(checkCommand)).toThrow()
})

test('a console shows commands and what they print', () => {
  expect(shownCommands('$ one \\\n> two\nout\n\n$ three')).toEqual([
    { command: 'one \\\ntwo', output: 'out' },
    { command: 'three', output: '' },
  ])
  expect(() => shownCommands('out')).toThrow()
})

test('what differs by chance is as shown, and nothing else', () => {
  const shown = 'checkpoint-6ac414de-be18-46ff-8d43-cf8ae5fb1b39  2026-11-30T19:42:25.576Z  7 files'
  expect(isAsShown('checkpoint-00000000-be18-46ff-8d43-cf8ae5fb1b39  2027-01-01T00:00:00.000Z  7 files\n', shown)).toBe(
    true,
  )
  expect(isAsShown('checkpoint-6ac414de-be18-46ff-8d43-cf8ae5fb1b39  2026-11-30T19:42:25.576Z  8 files', shown)).toBe(
    false,
  )
  expect(isAsShown('a (1)\nb\nc', 'a (…)\n…\nc')).toBe(true)
  expect(isAsShown('a (1)\nb\nd', 'a (…)\n…\nc')).toBe(false)
  expect(isAsShown('axb', 'a.b')).toBe(false)
})
