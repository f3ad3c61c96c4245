import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Scope } from '../src/tenancy/scope.ts'
import type { Engines } from '../test/support/engines.ts'
import { bundleScript } from './bundled-script.ts'
import { endpointOf } from './endpoint.ts'
import { atMost, type BenchResult, type Row } from './harness.ts'
import { type Measured, runNode } from './measured-process.ts'
import type { DocumentOutcome, DocumentTask } from './memory-process.ts'

const MIB = 1_048_576
/** What keeps Node from using memory only because it is there. */
const NODE_FLAGS = ['--max-semi-space-size=2', '--max-old-space-size=64']

type Run = DocumentOutcome & Measured

/** project.md of a project with many tasks: its time against the bare queries, its first byte, its memory. */
export async function compareDocument(engines: Engines, scopes: { few: Scope; many: Scope }): Promise<BenchResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sandkeep-memory-'))
  try {
    const script = await bundleScript('memory-process', folder)
    const few = await run(engines, script, scopes.few, 'compare')
    const compared = await run(engines, script, scopes.many, 'compare')
    const once = await run(engines, script, scopes.many, 'once')
    const ratio = compared.times?.ratio ?? Number.NaN
    return {
      rows: [
        rowOf('10 tasks', few),
        rowOf('10,000 tasks', compared),
        { document: '10,000 tasks, once', bytes: once.bytes, 'peak MiB': once.peakBytes / MIB },
      ],
      bars: [
        atMost('project.md of 10,000 tasks / bare queries', ratio, 1.5, 'x'),
        atMost('first byte after that of 10 tasks', compared.firstMs - few.firstMs, 1_000, 'ms'),
        atMost('peak memory', once.peakBytes / MIB, 128, 'MiB'),
      ],
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function run(
  { dynamodb, tableName }: Engines,
  script: string,
  { tenant }: Scope,
  what: DocumentTask['what'],
): Promise<Run> {
  const task: DocumentTask = { what, tenant, tableName, dynamodbEndpoint: await endpointOf(dynamodb) }
  const measured = await runNode(script, [], { flags: NODE_FLAGS, env: { BENCH_MEMORY: JSON.stringify(task) } })
  return { ...measured, ...(JSON.parse(measured.stdout) as DocumentOutcome) }
}

function rowOf(document: string, { bytes, firstMs, times, peakBytes }: Run): Row {
  return {
    document,
    bytes,
    'first byte ms': firstMs,
    ...(times && { ms: times.measured, 'bare ms': times.bare, ratio: times.ratio }),
    'peak MiB': peakBytes / MIB,
  }
}
