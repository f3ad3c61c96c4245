import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { codeBlocks, shownCommands } from '../../scripts/docs/blocks.ts'
import { MADE, withMade } from '../../scripts/docs/made.ts'
import { ROOT, readPages } from './support/pages.ts'

const read = (name: string) => readFileSync(path.join(ROOT, name), 'utf8')

test.for([...new Set(MADE.map(({ page }) => page))])('%s is as `node scripts/docs.ts` makes it', (page) => {
  const text = read(page)
  expect(text).toBe(withMade(page, text))
})

test('the recording of the terminal is that of README.md', () => {
  const [block] = codeBlocks(read('README.md')).filter(({ language }) => language === 'console')
  const events = read('docs/terminal-run.cast').trim().split('\n').slice(1)
  const shown = events.map((event) => JSON.parse(event)[2]).join('')
  expect(shown.replaceAll('\r\n', '\n').trimEnd()).toBe(block?.text)
  expect(shownCommands(block?.text ?? '').length).toBeGreaterThan(5)
})

/** What the lines of the functions' logs and of the access log hold. */
function logFields(): string[] {
  const own = read('lambdas/shared/request-log.ts').match(/\w+(?=:)/g) ?? []
  const access = /accessLogFormat = [\s\S]*?\n\)/.exec(read('lib/api.ts'))?.[0].match(/\w+(?=: '\$context)/g) ?? []
  return [...own, ...access, 'tenant', 'project', 'level', 'message', 'service', 'error.name', 'error.message']
}

const queries = readPages().flatMap(({ name, blocks }) =>
  blocks.filter(({ language }) => language === 'logs').map(({ line, text }) => ({ name, line, text })),
)

test.for(queries)('the fields of the query in $name at line $line are those of the logs', ({ text }) => {
  const named = [...text.matchAll(/\bas (\w+)/g)].map(([, name = '']) => name)
  const words = text.replaceAll(/"[^"]*"|\/[^/]*\/|\bas (?=\w)/g, '').match(/(?<![@\w])[a-zA-Z][\w.]*/g) ?? []
  const ofLanguage = ['fields', 'filter', 'stats', 'sort', 'limit', 'desc', 'by', 'and', 'or', 'in', 'like', 'bin', 'h']
  const functions = ['count', 'sum', 'avg', 'pct', 'max', 'ispresent']
  expect(words.filter((word) => ![...logFields(), ...named, ...ofLanguage, ...functions].includes(word))).toEqual([])
})

test('every page is in the index, and every decision in that of decisions', () => {
  const names = readPages().map(({ name }) => name)
  const linked = (page: string, below: string) =>
    names.filter((name) => path.dirname(name) === below && !read(page).includes(`](${path.relative('docs', name)})`))
  expect(linked('docs/README.md', 'docs')).toEqual(['docs/README.md'])
  expect(linked('docs/design.md', 'docs/decisions')).toEqual([])
})
