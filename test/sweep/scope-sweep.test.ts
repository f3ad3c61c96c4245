import { createHash } from 'node:crypto'
import { afterAll, expect, it } from 'vitest'
import { createBlobStore } from '../../src/blobs/store.ts'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import type { SandboxCheckpoint } from '../../src/checkpoints/types.ts'
import { type ScopeSweepInput, sweepScope } from '../../src/sweep/scope-sweep.ts'
import { Table } from '../../src/table/table.ts'
import { startEngines } from '../support/engines.ts'

const { freshScope, stop, ...engines } = await startEngines()
afterAll(stop)

const HOUR_MS = 3_600_000

/** Stores of a scope of their own, and a sweep of it, an hour after the uploads by its clock. */
function setUp() {
  const scope = freshScope()
  let now = Date.now()
  const config = { ...engines, scope, now: () => now }
  const checkpoints = createCheckpointStore(config)
  const blobs = createBlobStore(config)
  return {
    checkpoints,
    blobs,
    advance: (ms: number) => {
      now += ms
    },
    put: async (text: string): Promise<string> => {
      const bytes = Buffer.from(text)
      const key = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`
      await blobs.put(key, bytes)
      return key
    },
    sweep: (options: Partial<ScopeSweepInput> = {}) =>
      sweepScope({
        table: new Table(engines.dynamodb, engines.tableName),
        s3: engines.s3,
        bucketName: engines.bucketName,
        scope,
        now: () => now + HOUR_MS,
        olderThanMs: 0,
        dryRun: false,
        waitMs: 0,
        ...options,
      }),
  }
}

function checkpointOf(threadId: string, id: string, keys: string[], parent: string | null = null): SandboxCheckpoint {
  return {
    id,
    threadId,
    parentCheckpointId: parent,
    createdAt: 1,
    reason: 'automatic',
    files: keys.map((blobKey, index) => ({ path: `file-${index}`, kind: 'file', blobKey, size: 1 })),
    conversation: [],
    artifacts: [],
  }
}

it('deletes what no checkpoint uses, and nothing else', async () => {
  const { checkpoints, blobs, put, sweep } = setUp()
  const used = await put('used')
  const unused = await put('unused')
  const writer = await checkpoints.acquireWriter('thread')
  await checkpoints.append({ checkpoint: checkpointOf('thread', 'one', [used]), expectedHeadId: null, writer })
  await writer.release()

  const { counts, deletedBlobs, waiting } = await sweep()

  expect(deletedBlobs).toEqual([unused])
  expect(counts).toMatchObject({ listed: 2, referenced: 1, condemned: 1, spared: 0, deleted: 1, bytesFreed: 6 })
  expect(waiting).toBe(false)
  expect((await blobs.list('')).map(({ key }) => key)).toEqual([used])
})

it('waits for the leases that were live when it condemned, and spares what they came to use', async () => {
  const { checkpoints, blobs, put, sweep, advance } = setUp()
  const reused = await put('reused')
  const unused = await put('unused')
  advance(-HOUR_MS)
  const writer = await checkpoints.acquireWriter('thread')
  advance(HOUR_MS)
  expect(await blobs.head(reused)).not.toBeNull()

  // The lease is live by the sweep's clock.
  const now = writer.expiresAt - 1
  expect(await sweep({ now: () => now, olderThanMs: -HOUR_MS })).toMatchObject({ waiting: true, deletedBlobs: [] })
})
