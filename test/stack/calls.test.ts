import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createClient, type SandkeepClient } from '../../client/index.ts'
import { createHandler as createSweep } from '../../lambdas/sweep/handler.ts'
import type { SweepTelemetry } from '../../lambdas/sweep/telemetry.ts'
import { type LocalGateway, startGateway } from '../../local/gateway/index.ts'
import { createHandlers, createStreamHandlers } from '../../local/handlers.ts'
import { synthesizeTemplate } from '../../local/template.ts'
import { createBlobStore } from '../../src/blobs/store.ts'
import { MIN_BLOBS } from '../../src/bundles/plan.ts'
import { createBundleStore } from '../../src/bundles/store.ts'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import type { SandboxSnapshotFileEntry } from '../../src/checkpoints/types.ts'
import { createFileStore } from '../../src/files/store.ts'
import { APP_OWNER } from '../../src/files/types.ts'
import { createMemoryStore } from '../../src/memory/store.ts'
import { checkpoint } from '../http/support/checkpoint.ts'
import { injectFaults, refuse } from '../store/support/faults.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { CallRecorder, granted } from './recorder.ts'
import { synth } from './synth.ts'

let stack: LocalStack
let gateway: LocalGateway
let client: SandkeepClient
let recorder: CallRecorder

beforeAll(async () => {
  stack = await startLocalStack()
  recorder = new CallRecorder(stack)
  const services = ['authorizer', 'checkpoints', 'instances', 'keys']
  const handlers = services.map((service) => [service, createHandlers(recorder.configOf(service))[service]])
  const others = recorder.configOf('others')
  gateway = await startGateway({
    template: synthesizeTemplate(),
    handlers: { ...createHandlers(others), ...Object.fromEntries(handlers) },
    streamHandlers: createStreamHandlers(others),
  })
  client = createClient({
    url: gateway.url,
    apiKey: stack.apiKey,
    tenant: 'acme',
    project: 'demo',
    fetch: recorder.fetchFor('checkpoints'),
  })
})

afterAll(async () => {
  await gateway.stop()
  recorder.stop()
  await stack.stop()
})

test('the functions are granted the calls that they make, and no others', async () => {
  await useCheckpoints()
  await client.instances.upsert({ key: 'k', provider: 'p', providerSandboxId: 's', threadId: 't', updatedAt: 1 })
  await client.instances.get('k')
  await client.instances.delete('k')
  const { record } = await client.keys.create({ name: 'n', role: 'viewer', bindings: [{ tenant: 'a', project: 'b' }] })
  await client.keys.list()
  await client.keys.revoke(record.id)
  await leaveForTheSweep()
  await sweep()

  const template = synth()
  recorder.calls.delete('others')
  for (const service of recorder.calls.keys()) {
    expect(recorder.made(service), service).toEqual(granted(template, service))
  }
})

/**
 * A prune that ended after its commit, and a checkpoint whose body is read for the keys in it; a task that expires, and
 * a summary that no turn refers to; a file that expires, and one whose bytes were left behind.
 */
async function leaveForTheSweep(): Promise<void> {
  const config = recorder.configOf('killed prune')
  const memory = createMemoryStore({ ...config, scope: { tenant: 'acme', project: 'demo' }, retentionSec: 60 })
  for (const summary of ['x'.repeat(5_000), '']) {
    await memory.putTurn({ taskId: 'task', turn: 1, meta: '{}', summary, by: 'user:me' })
  }
  const fileStore = createFileStore({ ...config, scope: { tenant: 'acme', project: 'demo' }, user: APP_OWNER })
  const file = { filename: 'a', mimeType: 'a/b', scope: 'user', fromSandbox: false, bytes: randomBytes(1) } as const
  await fileStore.create({ ...file, expiresInSeconds: 3_600 })
  const { id: deleted } = await fileStore.create(file)
  injectFaults(config.s3, 'DeleteObject', [refuse(() => new Error('killed')), refuse(() => new Error('killed'))])
  await fileStore.delete(deleted)
  const store = createCheckpointStore({ ...config, scope: { tenant: 'acme', project: 'demo' } })
  const writer = await store.acquireWriter('v')
  const conversation = [randomBytes(400_000).toString('base64')]
  const files = [{ kind: 'file', path: 'a', blobKey: `sandbox-files/sha256/${'0'.repeat(64)}`, size: 1 }] as const
  for (const [id, parentCheckpointId] of [
    ['four', null],
    ['five', 'four'],
  ] as const) {
    const appended = checkpoint(id, 'v', { parentCheckpointId, files: [...files], conversation })
    await store.append({ checkpoint: appended, expectedHeadId: parentCheckpointId, writer })
  }
  await store.deleteCheckpoints({ threadId: 'v', keep: 1, writer })
  await writer.release()
  await leaveBundles(config)
  recorder.calls.delete('killed prune')
}

/** Bundles of a checkpoint that is there, and those that they took the place of. */
async function leaveBundles(config: ReturnType<CallRecorder['configOf']>): Promise<void> {
  const stores = { ...config, scope: { tenant: 'acme', project: 'demo' } }
  const blobs = createBlobStore(stores)
  const files: SandboxSnapshotFileEntry[] = []
  for (let index = 0; index < 3 * MIN_BLOBS; index += 1) {
    const bytes = randomBytes(10)
    const blobKey = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`
    await blobs.put(blobKey, bytes)
    files.push({ kind: 'file', path: `${index}`, blobKey, size: bytes.length })
  }
  const bundles = createBundleStore(stores)
  await bundles.build({ workspaceKey: 't' }, { checkpointId: 'five', createdAt: 1, files })
  await bundles.build({ workspaceKey: 't' }, { checkpointId: 'five', createdAt: 2, files: files.slice(2 * MIN_BLOBS) })
}

/** A sweep that finds everything that there is to remove, and one that runs out of time. */
async function sweep(): Promise<void> {
  const telemetry = { finished: vi.fn<SweepTelemetry['finished']>(), failed: vi.fn<SweepTelemetry['failed']>() }
  const later = { ...recorder.configOf('sweep'), now: () => Date.now() + 2 * 86_400_000 }
  const handler = createSweep(later, telemetry)
  await handler({}, { getRemainingTimeInMillis: () => 900_000 })
  expect(telemetry.finished).toHaveBeenCalledWith(expect.objectContaining({ state: 'done' }))
  expect(telemetry.failed).not.toHaveBeenCalled()
  await handler({}, { getRemainingTimeInMillis: () => 0 })
}

/** Every operation of the service, with a body that is kept in the bucket, and one that is sent and answered through it. */
async function useCheckpoints(): Promise<void> {
  const { checkpoints, blobs } = client
  const bytes = randomBytes(10)
  const key = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`
  await blobs.put(key, bytes)
  await blobs.head(key)
  await blobs.get(key)
  await blobs.list('')
  await blobs.prepareDownloads([key])

  const writer = await checkpoints.acquireWriter('t')
  const file = { kind: 'file', path: 'a', blobKey: key, size: bytes.length } as const
  const large = [randomBytes(4_000_000).toString('base64')]
  const ids = ['one', 'two', 'three']
  for (const [index, id] of ids.entries()) {
    const parentCheckpointId = ids[index - 1] ?? null
    await checkpoints.append({
      checkpoint: checkpoint(id, 't', { parentCheckpointId, files: [file], conversation: index === 1 ? large : [] }),
      expectedHeadId: parentCheckpointId,
      writer,
    })
  }
  await checkpoints.get('two')
  await checkpoints.list('t')
  await checkpoints.getHead('t')
  await checkpoints.listBlobReferences()
  const destination = await checkpoints.acquireWriter('u')
  await checkpoints.forkFromCheckpoint({
    sourceThreadId: 't',
    sourceCheckpointId: 'two',
    destinationThreadId: 'u',
    destinationCheckpointId: 'fork',
    createdAt: 1,
    writer: destination,
  })
  await checkpoints.deleteCheckpoints({ threadId: 't', keep: 1, writer })
  await checkpoints.deleteHead({ threadId: 't', checkpointId: 'three', writer })
  await checkpoints.deleteHead({ threadId: 'u', checkpointId: 'fork', writer: destination })
  await writer.renew()
  await writer.release()
  await destination.release()
  await blobs.delete(key)
  // For the sweep: a blob that nothing uses, and a lease that it has to look at.
  const unused = randomBytes(10)
  await blobs.put(`sandbox-files/sha256/${createHash('sha256').update(unused).digest('hex')}`, unused)
  await checkpoints.acquireWriter('u')
  await client.sweeps.start()
  await client.sweeps.list()
  await client.sweeps.usage()
}
