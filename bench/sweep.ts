import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import pMap from 'p-map'
import { blobObjectKey } from '../src/blobs/object-keys.ts'
import { createCheckpointStore } from '../src/checkpoints/store.ts'
import type { Scope } from '../src/tenancy/scope.ts'
import { type Engines, startEngines } from '../test/support/engines.ts'
import { checkpointOf, sampleKeys } from '../test/sweep/support/scope-under-sweep.ts'
import { bundleScript } from './bundled-script.ts'
import { endpointOf } from './endpoint.ts'
import { atMost, type BenchResult, type Row } from './harness.ts'
import { type Measured, runNode } from './measured-process.ts'
import { CHECKPOINTS, OBJECTS } from './sweep-lists.ts'
import type { SweepOutcome, SweepTask } from './sweep-process.ts'

const MIB = 1_048_576
const REAL_OBJECTS = 50_000
const REAL_CHECKPOINTS = 50
/** Of the real objects. */
const USED = 45_000
/** What keeps Node from using memory only because it is there; `NODE_OPTIONS` gives them to a function too. */
const NODE_FLAGS = ['--max-semi-space-size=2', '--max-old-space-size=128']
/** A sweep reads the table for the references twice, and for leases, deleted checkpoints and bodies once each. */
const TABLE_PASSES = 5

/** A sweep against only paging through the same lists, each in a process of its own. */
export async function sweep(): Promise<BenchResult> {
  const engines = await startEngines()
  const folder = await mkdtemp(path.join(tmpdir(), 'sandkeep-sweep-'))
  try {
    const script = await bundleScript('sweep-process', folder)
    const synthetic = await compare(engines, script, engines.freshScope(), true)
    const real = engines.freshScope()
    await fill(engines, real)
    const small = await compare(engines, script, real, false)
    const { swept, paged } = synthetic
    return {
      rows: [
        rowOf(`${OBJECTS.toLocaleString('en-US')} objects, synthetic: sweep`, swept),
        rowOf('  only paged', paged),
        rowOf(`${REAL_OBJECTS.toLocaleString('en-US')} objects, real: sweep`, small.swept),
        rowOf('  only paged', small.paged),
      ],
      bars: [
        atMost('peak memory, synthetic', swept.peakBytes / MIB, 256, 'MiB'),
        atMost('peak memory, real', small.swept.peakBytes / MIB, 256, 'MiB'),
        atMost('time / paging, synthetic', swept.ms / paged.ms, 2, 'x'),
        atMost('time / paging, real', small.swept.ms / small.paged.ms, 2, 'x'),
        // And one for each of bodies and staging.
        atMost('LISTs, synthetic', swept.lists, Math.ceil(OBJECTS / 1_000) + 2, 'requests'),
        atMost('LISTs, real', small.swept.lists, Math.ceil(REAL_OBJECTS / 1_000) + 3, 'requests'),
        atMost('DELETEs, synthetic', swept.deletes, Math.ceil(swept.deleted / 1_000), 'requests'),
        atMost('DELETEs, real', small.swept.deletes, Math.ceil(small.swept.deleted / 1_000), 'requests'),
        atMost('read units / those of a pass, synthetic', swept.readUnits / paged.readUnits, TABLE_PASSES + 0.5, 'x'),
      ],
    }
  } finally {
    await rm(folder, { recursive: true })
    await engines.stop()
  }
}

type Run = SweepOutcome & Measured & { checkpoints: number }

/** Paged first: the sweep leaves less. */
async function compare(
  engines: Engines,
  script: string,
  scope: Scope,
  synthetic: boolean,
): Promise<{ swept: Run; paged: Run }> {
  const checkpoints = synthetic ? CHECKPOINTS : REAL_CHECKPOINTS
  const paged = { ...(await run(engines, script, scope, { what: 'page', synthetic })), checkpoints }
  const swept = { ...(await run(engines, script, scope, { what: 'sweep', synthetic })), checkpoints }
  const [objects, used] = synthetic ? [OBJECTS, 0.9 * OBJECTS] : [REAL_OBJECTS, USED]
  if (paged.listed !== objects || swept.referenced !== used || swept.deleted !== objects - used) {
    throw new Error(`The sweep of ${objects} objects came to something else: ${JSON.stringify(swept)}`)
  }
  return { swept, paged }
}

async function run(
  { dynamodb, s3, tableName, bucketName }: Engines,
  script: string,
  { tenant }: Scope,
  what: Pick<SweepTask, 'what' | 'synthetic'>,
): Promise<SweepOutcome & Measured> {
  const task: SweepTask = {
    ...{ ...what, tenant, tableName, bucketName },
    dynamodbEndpoint: await endpointOf(dynamodb),
    s3Endpoint: await endpointOf(s3),
  }
  const measured = await runNode(script, [], { flags: NODE_FLAGS, env: { BENCH_SWEEP: JSON.stringify(task) } })
  return { ...measured, ...(JSON.parse(measured.stdout) as SweepOutcome) }
}

async function fill(engines: Engines, scope: Scope): Promise<void> {
  const keys = sampleKeys(REAL_OBJECTS)
  const put = (key: string) =>
    engines.s3.send(
      new PutObjectCommand({ Bucket: engines.bucketName, Key: blobObjectKey(scope, key), Body: Buffer.from('x') }),
    )
  await pMap(keys, put, { concurrency: 32 })
  const store = createCheckpointStore({ ...engines, scope })
  const each = USED / REAL_CHECKPOINTS
  for (let index = 0; index < REAL_CHECKPOINTS; index++) {
    const threadId = `thread-${index}`
    const writer = await store.acquireWriter(threadId)
    const checkpoint = checkpointOf(threadId, `checkpoint-${index}`, keys.slice(index * each, (index + 1) * each))
    await store.append({ checkpoint, expectedHeadId: null, writer })
    await writer.release()
  }
}

function rowOf(name: string, { ms, peakBytes, lists, deletes, requests, readUnits, costUsd, checkpoints }: Run): Row {
  return {
    sweep: name,
    seconds: ms / 1_000,
    'peak MiB': peakBytes / MIB,
    LISTs: lists,
    DELETEs: deletes,
    'DynamoDB requests': requests,
    'read units': readUnits,
    '$ per million checkpoints': (costUsd / checkpoints) * 1e6,
  }
}
