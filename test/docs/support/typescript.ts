import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { AROUND, type Page, ROOT } from './pages.ts'

/** What a block marked so finds around it. */
const around: Record<string, (code: string) => string> = {
  client: (code) => `import { createClient } from 'sandkeep'
const client = createClient({
  url: process.env.SANDBOX_GATEWAY_URL ?? '',
  apiKey: process.env.SANDBOX_API_KEY ?? '',
  tenant: process.env.SANDBOX_TENANT ?? '',
  project: process.env.SANDBOX_PROJECT ?? '',
})
${code}`,
  stack: (code) => {
    const imports = code.match(/^import .*\n/gm) ?? []
    return `${imports.join('')}import { App as AroundApp, Stack as AroundStack } from 'aws-cdk-lib'
class Around extends AroundStack {
  constructor() {
    super(new AroundApp(), 'Around', { env: { account: '123456789012', region: 'eu-west-1' } })
    ${imports.reduce((rest, line) => rest.replace(line, ''), code)}
  }
}
new Around()`
  },
}

/** The sources of what a sample can import. */
const SOURCES = {
  sandkeep: 'index.ts',
  'sandkeep/ai': 'client/ai/index.ts',
  'sandkeep/cdk': 'lib/index.ts',
  'sandkeep/local': 'local/index.ts',
  'sandkeep/testkit': 'testkit/index.ts',
}

/** Writes each sample of the pages into a file of its own. @returns what can be checked and run, in order */
export function writeSamples(folder: string, pages: readonly Page[]): string[] {
  mkdirSync(folder)
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
  const paths = Object.fromEntries(Object.entries(SOURCES).map(([name, file]) => [name, [path.join(ROOT, file)]]))
  const tsconfig = {
    extends: path.join(ROOT, 'tsconfig.json'),
    compilerOptions: { paths, noUnusedLocals: false, noUnusedParameters: false, erasableSyntaxOnly: false },
    // With the types that the sources declare for packages without any.
    include: ['*.ts', path.join(ROOT, 'local/**/*.d.ts')],
  }
  write(folder, 'tsconfig.json', JSON.stringify(tsconfig))
  write(folder, 'package.json', '{"type":"module"}')
  write(folder, 'resolve.js', hooks())
  return pages.flatMap(({ name, blocks }) =>
    blocks
      .filter(({ language }) => language === 'ts')
      .map(({ line, marks, text }) => {
        const file = `${name.replaceAll(/\W/g, '_')}_${line}.ts`
        const mark = marks.find((each) => AROUND.includes(each)) ?? ''
        write(folder, file, `${around[mark]?.(text) ?? text}\nexport {}\n`)
        return file
      }),
  )
}

function write(folder: string, name: string, text: string): void {
  writeFileSync(path.join(folder, name), text)
}

/** Has Node find the sources, as the compiler does; but a local stack that a sample starts is the one that runs. */
function hooks(): string {
  const running = `export const startLocalStack = async () => ({
  url: process.env.SANDBOX_GATEWAY_URL, apiKey: process.env.SANDBOX_API_KEY, stop: async () => undefined
})`
  const files = {
    ...Object.fromEntries(Object.entries(SOURCES).map(([name, file]) => [name, new URL(file, `file://${ROOT}/`).href])),
    'sandkeep/local': `data:text/javascript,${encodeURIComponent(running)}`,
  }
  return `import { registerHooks } from 'node:module'
const files = ${JSON.stringify(files)}
registerHooks({
  resolve: (name, context, next) => (files[name] ? { url: files[name], shortCircuit: true } : next(name, context)),
})
`
}

/** What the compiler says of all samples: nothing when they are right. */
export function compile(folder: string): Promise<string> {
  return execute(path.join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder], { cwd: folder })
}

/**
 * Runs the samples, and the app with each context, one after the other in one process.
 * @returns what went wrong
 */
export function runSamples(
  folder: string,
  { files, contexts }: { files: readonly string[]; contexts: readonly Record<string, string>[] },
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Promise<string> {
  const app = new URL('bin/sandkeep.ts', `file://${ROOT}/`).href
  const runs = [
    ...files.map((file) => ({ module: `./${file}`, context: {} })),
    ...contexts.map((context, index) => ({ module: `${app}?${index}`, context })),
  ]
  write(
    folder,
    'all.js',
    `import assert from 'node:assert'
console.assert = (value, ...more) => assert(value, ...more)
for (const { module, context } of ${JSON.stringify(runs)}) {
  process.env.CDK_CONTEXT_JSON = JSON.stringify({ 'aws:cdk:bundling-stacks': [], ...context })
  await import(module).catch((error) => {
    console.error(module, context, error)
    process.exitCode = 1
  })
}
`,
  )
  const start = ['--import', path.join(folder, 'resolve.js'), path.join(folder, 'all.js')]
  return execute(process.execPath, start, { cwd, env })
}

function execute(program: string, args: string[], options: { cwd: string; env?: Record<string, string> }) {
  return new Promise<string>((resolve) => {
    execFile(program, args, { ...options, maxBuffer: 1 << 26 }, (error, stdout, stderr) =>
      resolve(error ? `${stdout}${stderr}${error.message}` : ''),
    )
  })
}
