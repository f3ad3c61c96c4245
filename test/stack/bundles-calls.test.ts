import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHandler } from '../../lambdas/bundles/handler.ts'
import { createBlobStore } from '../../src/blobs/store.ts'
import { createBundleStore } from '../../src/bundles/store.ts'
import type { SandboxSnapshotFileEntry } from '../../src/checkpoints/types.ts'
import { createSandboxStore } from '../../src/sandboxes/store.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { CallRecorder, granted } from './recorder.ts'
import { synth } from './synth.ts'

const SCOPE = { tenant: 'acme', project: 'demo' }
/** So many files that the snapshot's body is in the bucket. */
const FILES = 500

let stack: LocalStack
let recorder: CallRecorder

beforeAll(async () => {
  stack = await startLocalStack()
  recorder = new CallRecorder(stack)
})

afterAll(async () => {
  recorder.stop()
  await stack.stop()
})

test('the bundles function is granted the calls that it makes, and no others', async () => {
  const others = { ...recorder.configOf('others'), scope: SCOPE }
  const blobs = createBlobStore(others)
  const sandboxes = createSandboxStore(others)
  const files: SandboxSnapshotFileEntry[] = []
  for (let index = 0; index < FILES; index += 1) {
    const bytes = randomBytes(100)
    const blobKey = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`
    await blobs.put(blobKey, bytes)
    files.push({ kind: 'file', path: `${index}`, blobKey, size: bytes.length })
  }
  const { sandbox } = await sandboxes.create({ profile: 'p', taskId: 't', by: 'user:me' })
  const build = createHandler(recorder.configOf('bundles'))
  for (const saved of [files, files.slice(FILES / 4)]) {
    const name = await sandboxes.saveSnapshot(sandbox.sandboxId, { reason: 'autosave', files: saved })
    await build({ scope: SCOPE, ...name }, { getRemainingTimeInMillis: () => 900_000 })
  }
  const plan = await createBundleStore(others).downloads({ workspaceKey: 't' }, { files, artifacts: [] })
  expect(plan).toMatchObject({ bundles: [{ entries: { length: FILES } }], blobs: [] })
  const template = synth()
  // That a blob is not there is known only to who may list the bucket.
  const made = [...recorder.made('bundles'), 'bucket s3:ListBucket']
  expect(made.sort()).toEqual(granted(template, 'bundles'))
})
