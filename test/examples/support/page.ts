import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeTree } from '../../cli/support/tree.ts'
import { EXAMPLES, ROOT } from './machine.ts'

/** What stands for the adapter of Anthropic: its model goes on with a file. */
const ADAPTER = `import { scriptedAdapter } from '${ROOT}/test/examples/support/scripted-adapter.ts'
const command = 'echo line >> haiku.txt'
export const anthropicText = () =>
  scriptedAdapter([{ tool: 'run_command', input: { command } }, { text: 'Done.' }]).adapter
`

export interface Page {
  /** All commands of the page, as one script. */
  script: string
  /** What the script's environment needs so that Node finds the sources. */
  env: Record<string, string>
}

/** Makes a folder what the top of the repository is for the page of the examples, with the programs that it shows. */
export function openPage(folder: string): Page {
  const text = readFileSync(join(EXAMPLES, 'README.md'), 'utf8')
  const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = '', code = '']) => {
    if (language !== 'sh' && language !== 'ts') throw new Error(`A block in the language "${language}".`)
    return { language, code }
  })
  const modules = {
    sandkeep: `${ROOT}/index.ts`,
    'sandkeep/ai': `${ROOT}/client/ai/index.ts`,
    '@tanstack/ai-anthropic': join(folder, 'adapter.ts'),
  }
  const hooks = `import { registerHooks } from 'node:module'
const modules = ${JSON.stringify(modules)}
registerHooks({ resolve: (name, context, next) => next(modules[name] ?? name, context) })
`
  const programs = blocks.filter(({ language }) => language === 'ts').map(({ code }) => [nameOf(code), code])
  makeTree(folder, {
    examples: { link: EXAMPLES },
    'README.md': text,
    'package.json': '{"type":"module"}',
    'adapter.ts': ADAPTER,
    'hooks.js': hooks,
    ...Object.fromEntries(programs),
  })
  return {
    script: blocks
      .filter(({ language }) => language === 'sh')
      .map(({ code }) => code)
      .join(''),
    env: { NODE_OPTIONS: `--import ${join(folder, 'hooks.js')}` },
  }
}

/** A program's first line is a comment with its name. */
function nameOf(code: string): string {
  const [, name] = /^\/\/ (\S+)\n/.exec(code) ?? []
  if (name === undefined) throw new Error(`A program without a name: ${code}`)
  return name
}
