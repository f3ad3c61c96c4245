import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { build } from 'esbuild'

const importPattern = /^import\s+\{([^}]*)\}\s+from\s+'(@(?:aws-sdk|smithy)\/[^']+)'/gm
const clientPattern = /^(DynamoDB|S3|Lambda)Client$/

/**
 * The source of a module that takes from the SDK just what the sources behind an entry point take, and creates the
 * clients as they do. Undefined: they take nothing of it.
 */
export async function sdkEntry(entry: string): Promise<string | undefined> {
  const { metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  })
  const imports = new Map<string, Set<string>>()
  for (const file of Object.keys(metafile.inputs)) {
    const source = await readFile(path.resolve(file), 'utf8')
    for (const [, names = '', module = ''] of source.matchAll(importPattern)) {
      const known = imports.get(module) ?? new Set()
      imports.set(module, known)
      for (const name of names.split(',').map((text) => text.trim())) {
        if (name !== '' && !name.startsWith('type ')) known.add(name)
      }
    }
  }
  const used = [...imports].filter(([, names]) => names.size > 0)
  if (used.length === 0) return undefined
  const names = used.flatMap(([, set]) => [...set])
  return [
    ...used.map(([module, set]) => `import { ${[...set].join(', ')} } from '${module}'`),
    `export { ${names.join(', ')} }`,
    `export const clients = [${names.filter((name) => clientPattern.test(name)).map((name) => `new ${name}({})`)}]`,
  ].join('\n')
}
