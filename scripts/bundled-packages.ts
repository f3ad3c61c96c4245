import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { build } from 'esbuild'
import { BUNDLE_OPTIONS } from './bundle-options.ts'

/** A package whose code is in what is deployed. */
export interface BundledPackage {
  name: string
  version: string
  /** Its SPDX expression. */
  licence: string
  /** Its minified bytes, in all functions together. */
  bytes: number
  /** The functions that have it. */
  functions: number
}

const root = path.dirname(import.meta.dirname)

/** Licences that ask for no more than a notice. */
export const ALLOWED_LICENCES: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
])

/** The packages in the bundles of the functions, made as the stack makes them. Those with the most bytes come first. */
export async function bundledPackages(): Promise<BundledPackage[]> {
  const services = readdirSync(path.join(root, 'lambdas')).filter((name) => existsSync(entryOf(name)))
  const found = new Map<string, { bytes: number; functions: Set<string> }>()
  for (const service of services) {
    for (const [folder, bytes] of await bytesByPackage(service)) {
      const entry = found.get(folder) ?? { bytes: 0, functions: new Set() }
      entry.bytes += bytes
      entry.functions.add(service)
      found.set(folder, entry)
    }
  }
  const packages = [...found].map(async ([folder, { bytes, functions }]) => ({
    ...(await describe(folder)),
    bytes,
    functions: functions.size,
  }))
  return (await Promise.all(packages)).sort((left, right) => right.bytes - left.bytes)
}

function entryOf(service: string): string {
  return path.join(root, 'lambdas', service, 'index.ts')
}

/** By the folder of the package. */
async function bytesByPackage(service: string): Promise<Map<string, number>> {
  const { metafile } = await build({
    ...BUNDLE_OPTIONS,
    entryPoints: [entryOf(service)],
    absWorkingDir: root,
    write: false,
    outfile: 'index.mjs',
    metafile: true,
    logLevel: 'error',
  })
  const bytes = new Map<string, number>()
  for (const { inputs } of Object.values(metafile.outputs)) {
    for (const [file, { bytesInOutput }] of Object.entries(inputs)) {
      // A package may lie in the folder of another one: the last name counts.
      const folder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]
      if (folder !== undefined && bytesInOutput > 0) bytes.set(folder, (bytes.get(folder) ?? 0) + bytesInOutput)
    }
  }
  return bytes
}

async function describe(folder: string): Promise<Pick<BundledPackage, 'name' | 'version' | 'licence'>> {
  const { name, version, license, licenses } = JSON.parse(
    await readFile(path.join(root, folder, 'package.json'), 'utf8'),
  )
  // The old way to write it is a list.
  return { name, version, licence: license ?? licenses?.[0]?.type ?? 'none named' }
}
