import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { deflateRawSync } from 'node:zlib'
import { App } from 'aws-cdk-lib'
import { build } from 'esbuild'
import { FUNCTION_METADATA } from '../lib/service-function.ts'
import { SandkeepStack } from '../lib/stack.ts'
import { BUNDLE_OPTIONS } from '../scripts/bundle-options.ts'
import { atMost, type BenchResult, pairOf, type Row } from './harness.ts'
import { sdkEntry } from './sdk-entry.ts'

const MAX_ZIP_BYTES = 1_048_576
/** What Lambda itself gives to a function, as far as the functions read it. */
const LAMBDA_VARIABLES = { AWS_REGION: 'us-east-1', AWS_LAMBDA_FUNCTION_NAME: 'bench' }
const TURNS = 11
const WARMUP = 1
const root = path.dirname(import.meta.dirname)

/**
 * The functions as a deployment would upload them. Their import time, each time in a process of its own, against that of
 * a bundle that holds the same parts of the SDK, creates the same clients, and has no code of this project.
 */
export async function bundle(): Promise<BenchResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sandkeep-bundle-'))
  try {
    const rows: Row[] = []
    for (const { service, file, variables } of synthesizeBundles(folder)) {
      const base = await buildSdkAlone(service, folder)
      if (base === undefined) {
        // Nothing of the SDK to compare with.
        rows.push({
          function: service,
          'zip bytes': await zipSize(file),
          'import ms': await importTime(file, variables),
        })
        continue
      }
      const times = await pairOf(
        { measured: () => importTime(file, variables), bare: () => importTime(base, variables) },
        { turns: TURNS, warmup: WARMUP },
      )
      rows.push({
        function: service,
        'zip bytes': await zipSize(file),
        'SDK zip bytes': await zipSize(base),
        'import ms': times.measured,
        'SDK import ms': times.bare,
        ratio: times.ratio,
      })
    }
    return {
      rows,
      bars: rows.flatMap((row) => [
        atMost(`${row.function}: zip`, Number(row['zip bytes']), MAX_ZIP_BYTES, 'bytes'),
        ...(row.ratio === undefined
          ? []
          : [atMost(`${row.function}: import / SDK clients alone`, Number(row.ratio), 1.3, 'x')]),
      ]),
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

interface Bundle {
  service: string
  file: string
  variables: Record<string, string>
}

/** The functions of the stack with the bundles that the CDK made of them. */
function synthesizeBundles(folder: string): Bundle[] {
  const app = new App({ outdir: path.join(folder, 'cdk.out'), analyticsReporting: false })
  const stack = new SandkeepStack(app, 'Sandkeep')
  const assembly = app.synth()
  const { Resources } = assembly.getStackByName(stack.stackName).template as {
    Resources: Record<string, FunctionResource>
  }
  return Object.values(Resources).flatMap(({ Metadata, Properties }): Bundle[] => {
    const service = Metadata?.[FUNCTION_METADATA]
    const archive = Properties?.Code?.S3Key
    if (typeof service !== 'string' || archive === undefined) return []
    const file = path.join(assembly.directory, `asset.${archive.replace(/\.zip$/, '')}`, 'index.mjs')
    return [{ service, file, variables: variablesOf(Properties) }]
  })
}

interface FunctionResource {
  Metadata?: Record<string, unknown>
  Properties?: { Code?: { S3Key?: string }; Environment?: { Variables?: Record<string, unknown> } }
}

/** As the template has them; names that are known only when it is deployed are made up. */
function variablesOf(properties: FunctionResource['Properties']): Record<string, string> {
  const variables = Object.entries(properties?.Environment?.Variables ?? {})
  return Object.fromEntries(variables.map(([name, value]) => [name, typeof value === 'string' ? value : 'bench']))
}

async function buildSdkAlone(service: string, folder: string): Promise<string | undefined> {
  const contents = await sdkEntry(path.join(root, 'lambdas', service, 'index.ts'))
  if (contents === undefined) return undefined
  const outfile = path.join(folder, `sdk-${service}.mjs`)
  await build({ ...BUNDLE_OPTIONS, stdin: { contents, resolveDir: root, loader: 'js' }, outfile })
  return outfile
}

/** Milliseconds from the start of the import to its end, in a new process. */
async function importTime(file: string, variables: Record<string, string>): Promise<number> {
  // As Lambda has it for functions that stream.
  const script = `globalThis.awslambda = { streamifyResponse: (handler) => handler }
    const start = performance.now()
    await import(${JSON.stringify(pathToFileURL(file).href)})
    process.stdout.write(String(performance.now() - start))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...variables, ...LAMBDA_VARIABLES },
  })
  return Number(stdout)
}

/** The size of a zip archive with one deflated file. */
async function zipSize(file: string): Promise<number> {
  const headers = 30 + 46 + 22 + 2 * path.basename(file).length
  return headers + deflateRawSync(await readFile(file), { level: 9 }).length
}
