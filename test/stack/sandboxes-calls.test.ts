import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, type SandkeepClient } from '../../client/index.ts'
import { createHandler as createSweep } from '../../lambdas/sweep/handler.ts'
import { type LocalGateway, startGateway } from '../../local/gateway/index.ts'
import { createHandlers, createStreamHandlers } from '../../local/handlers.ts'
import { synthesizeTemplate } from '../../local/template.ts'
import { MIN_BLOBS } from '../../src/bundles/plan.ts'
import { createBundleStore } from '../../src/bundles/store.ts'
import { createSandboxStore } from '../../src/sandboxes/store.ts'
import { after as atTheSameTime, injectFaults } from '../store/support/faults.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { CallRecorder, granted } from './recorder.ts'
import { synth } from './synth.ts'

const SCOPE = { tenant: 'acme', project: 'demo' }

let stack: LocalStack
let gateway: LocalGateway
let recorder: CallRecorder
let client: SandkeepClient

beforeAll(async () => {
  stack = await startLocalStack()
  recorder = new CallRecorder(stack)
  const others = recorder.configOf('others')
  const { sandboxes } = createHandlers(recorder.configOf('sandboxes'))
  gateway = await startGateway({
    template: synthesizeTemplate(),
    handlers: { ...createHandlers(others), ...(sandboxes && { sandboxes }) },
    streamHandlers: createStreamHandlers(others),
  })
  client = createClient({
    url: gateway.url,
    apiKey: stack.apiKey,
    ...SCOPE,
    fetch: recorder.fetchFor('sandboxes'),
  })
})

afterAll(async () => {
  await gateway.stop()
  recorder.stop()
  await stack.stop()
})

/** Where the files of the snapshot are, in a bundle and beside it, and what is there under the links. */
async function downloads(name: { sandboxId: string; snapshotSeq: number }): Promise<void> {
  const bundles = createBundleStore({ ...recorder.configOf('others'), scope: SCOPE })
  const snapshot = await client.sandboxes.getSnapshot(name)
  if (!snapshot) throw new Error('There is no such snapshot.')
  expect(await bundles.build({ workspaceKey: 't' }, snapshot)).toMatchObject({ written: 1 })
  const plan = await client.sandboxes.snapshotDownloads(name)
  const [bundle] = plan?.bundles ?? []
  await recorder.fetchFor('sandboxes')(bundle?.download.url ?? '')
  const named = await client.sandboxes.snapshotDownloads(name, [bundle?.entries[0]?.key ?? ''])
  await recorder.fetchFor('sandboxes')(named?.blobs[0]?.download.url ?? '')
}

/** A save that is refused when its body is in the bucket already. */
async function refuseBody(sandboxId: string): Promise<void> {
  const config = recorder.configOf('sandboxes')
  const store = createSandboxStore({ ...config, scope: SCOPE })
  const destroy = atTheSameTime(() => store.destroy(sandboxId, () => true))
  injectFaults(config.dynamodb, 'TransactWriteItems', [destroy])
  const conversation = [randomBytes(400_000).toString('base64')]
  const saved = store.saveSnapshot(sandboxId, { reason: 'stop', files: [], conversation })
  await expect(saved).rejects.toMatchObject({ code: 'sandbox_destroyed' })
}

async function putFiles(count: number) {
  const files = Array.from({ length: count }, (_, index) => {
    const bytes = randomBytes(100)
    const blobKey = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`
    return { file: { kind: 'file', path: `${index}`, blobKey, size: bytes.length } as const, bytes }
  })
  // Not by the client whose presigned requests are told.
  const { blobs } = createClient({ url: gateway.url, apiKey: stack.apiKey, ...SCOPE })
  for (const { file, bytes } of files) await blobs.put(file.blobKey, bytes)
  return files.map(({ file }) => file)
}

test('the function of the sandboxes is granted the calls that it makes, and no others', async () => {
  const { sandboxes } = client
  const { sandbox } = await sandboxes.create({ profile: 'p', taskId: 't', reuse: true })
  const { sandboxId } = sandbox
  await sandboxes.create({ profile: 'p', taskId: 't', reuse: true })
  await sandboxes.get(sandboxId)
  await sandboxes.list()
  await sandboxes.list({ taskId: 't' })
  await sandboxes.stop(sandboxId)
  await sandboxes.start(sandboxId)
  await sandboxes.renew(sandboxId)
  const files = await putFiles(MIN_BLOBS)
  // A body that is kept in the bucket, sent and answered through it.
  const conversation = [randomBytes(4_000_000).toString('base64')]
  await sandboxes.saveSnapshot(sandboxId, { reason: 'stop', files, conversation })
  await expect(
    sandboxes.saveSnapshot(sandboxId, {
      reason: 'stop',
      files: [{ kind: 'file', path: 'x', blobKey: `sandbox-files/sha256/${'0'.repeat(64)}`, size: 1 }],
    }),
  ).rejects.toThrow('Upload 1 blobs')
  await sandboxes.saveSnapshot(sandboxId, { reason: 'stop', files })
  await sandboxes.listSnapshots(sandboxId)
  const snapshot = await sandboxes.getSnapshot({ sandboxId, snapshotSeq: 1 })
  expect(snapshot?.conversation).toEqual(conversation)
  await client.sandboxes.create({ profile: 'p', source: { type: 'snapshot', sandboxId, snapshotSeq: 1 } })
  await client.checkpoints.get(snapshot?.checkpointId ?? '')
  await downloads({ sandboxId, snapshotSeq: 2 })
  await refuseBody(sandboxId)
  expect(recorder.made('sandboxes')).toEqual(granted(synth(), 'sandboxes'))
})

test('a sweep of sandboxes makes no call that it is not granted', async () => {
  const { sandbox } = await client.sandboxes.create({ profile: 'p', ttlSeconds: 1 })
  const [file] = await putFiles(1)
  const conversation = [randomBytes(400_000).toString('base64')]
  await client.sandboxes.saveSnapshot(sandbox.sandboxId, { reason: 'stop', files: file ? [file] : [], conversation })
  await client.sandboxes.create({
    ...{ profile: 'p', ttlSeconds: 1 },
    source: { type: 'snapshot', sandboxId: sandbox.sandboxId, snapshotSeq: 1 },
  })
  const config = { ...recorder.configOf('sweep'), now: () => Date.now() + 60 * 86_400_000 }
  const handler = createSweep(config, { finished: () => undefined, failed: () => undefined })
  for (const _ of ['frees', 'removes']) await handler({}, { getRemainingTimeInMillis: () => 900_000 })
  expect(granted(synth(), 'sweep')).toEqual(expect.arrayContaining(recorder.made('sweep')))
  expect(await client.sandboxes.getSnapshot({ sandboxId: sandbox.sandboxId, snapshotSeq: 1 })).toBeNull()
})
