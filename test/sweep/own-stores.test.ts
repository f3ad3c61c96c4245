import { createHash } from 'node:crypto'
import { CreateBucketCommand } from '@aws-sdk/client-s3'
import { afterAll, expect, it } from 'vitest'
import { createBlobStore } from '../../src/blobs/store.ts'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import { SweepIncompleteError, sweepSandboxBlobs } from '../../src/sweep/sweep-blobs.ts'
import { checkpoint } from '../http/support/checkpoint.ts'
import { injectFaults } from '../store/support/faults.ts'
import { startEngines } from '../support/engines.ts'

const engines = await startEngines()
afterAll(engines.stop)

const HOUR_MS = 3_600_000
const now = () => Date.now() + HOUR_MS

/** Stores of a fresh scope, or of one that is given. */
function stores(config: Partial<{ scope: ReturnType<typeof engines.freshScope>; bucketName: string }> = {}) {
  const scope = config.scope ?? engines.freshScope()
  const blobs = createBlobStore({ ...engines, ...config, scope })
  const checkpoints = createCheckpointStore({ ...engines, ...config, scope })
  const put = async (text: string, kind = 'files'): Promise<string> => {
    const key = `sandbox-${kind}/sha256/${createHash('sha256').update(text).digest('hex')}`
    await blobs.put(key, Buffer.from(text))
    return key
  }
  const append = async (id: string, blobKey: string) => {
    const writer = await checkpoints.acquireWriter(id)
    const files = [{ path: 'x', kind: 'file' as const, blobKey, size: 1 }]
    await checkpoints.append({ checkpoint: checkpoint(id, id, { files }), expectedHeadId: null, writer })
    return writer
  }
  const keys = async () => (await blobs.list('')).map(({ key }) => key)
  return { scope, blobs, checkpoints, put, append, keys, input: { checkpoints, blobs, olderThanMs: 0, now } }
}

it('takes what is unused, and tells it in listing order: files, then artifacts', async () => {
  const { put, append, keys, input } = stores()
  const files = [await put('1'), await put('2'), await put('3')].sort()
  const artifact = await put('4', 'artifacts')
  const used = await put('5')
  await (await append('t', used)).release()
  expect(await sweepSandboxBlobs(input)).toStrictEqual([...files, artifact])
  expect(await keys()).toStrictEqual([used])
})

it('takes what is strictly older only', async () => {
  const { put, blobs, input } = stores()
  const key = await put('1')
  const uploadedAt = (await blobs.head(key))?.uploadedAt ?? 0
  expect(await sweepSandboxBlobs({ ...input, olderThanMs: 1_000, now: () => uploadedAt + 1_000 })).toStrictEqual([])
  expect(await sweepSandboxBlobs({ ...input, olderThanMs: 1_000, now: () => uploadedAt + 1_001 })).toStrictEqual([key])
})

it('leaves what a writer may have asked for before, until its lease has ended', async () => {
  const { put, checkpoints, blobs, input } = stores()
  const [reused, unused] = [await put('reused'), await put('unused')]
  const writer = await checkpoints.acquireWriter('t')
  expect(await blobs.prepareUploads([{ key: reused, size: 6 }])).toStrictEqual([])
  // The lease is live by this clock, and what was uploaded is older than a millisecond.
  const soon = { ...input, now: () => Date.now() + 5_000 }
  expect(await sweepSandboxBlobs(soon)).toStrictEqual([])
  const files = [{ path: 'x', kind: 'file' as const, blobKey: reused, size: 6 }]
  await checkpoints.append({ checkpoint: checkpoint('a', 't', { files }), expectedHeadId: null, writer })
  await writer.release()
  expect(await sweepSandboxBlobs(soon)).toStrictEqual([unused])
  expect(await blobs.get(reused)).not.toBeNull()
})

it('does not tell what had been deleted before', async () => {
  const { put, blobs, input } = stores()
  await blobs.delete(await put('1'))
  expect(await sweepSandboxBlobs(input)).toStrictEqual([])
})

it('tells what S3 would not delete, and what did go', async () => {
  const { put, input } = stores()
  const [one = '', two = ''] = [await put('1'), await put('2')].sort()
  using _faults = injectFaults(engines.s3, 'DeleteObjects', [
    async (send, { Delete }) => {
      const { Objects } = Delete as { Objects: Array<{ Key: string; VersionId: string }> }
      const refused = Objects.filter(({ Key }) => Key.endsWith(one))
      Object.assign(Delete as object, { Objects: Objects.filter(({ Key }) => !Key.endsWith(one)) })
      const answer = (await send()) as { output: object }
      const Errors = refused.map(({ Key, VersionId }) => ({ Key, VersionId, Code: 'AccessDenied', Message: 'no' }))
      return { ...answer, output: { ...answer.output, Errors } }
    },
  ])
  const error = await sweepSandboxBlobs(input).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(SweepIncompleteError)
  expect(error).toMatchObject({ deleted: [two], failures: [{ key: one, cause: { message: 'AccessDenied: no' } }] })
})

it.each(['ListObjectVersions', 'ListObjectsV2'])('deletes nothing when %s fails', async (command) => {
  const { put, keys, input } = stores()
  const key = await put('1')
  {
    using _faults = injectFaults(engines.s3, command, [async () => Promise.reject(new Error('injected'))])
    await expect(sweepSandboxBlobs(input)).rejects.toThrow('injected')
  }
  expect(await keys()).toStrictEqual([key])
})

it('goes the plain way when the stores are of two scopes, are wrapped, or their bucket has no versions', async () => {
  const { put, input, checkpoints, blobs } = stores()
  const other = stores()
  // Only the protocol would wait for it.
  await checkpoints.acquireWriter('t')
  await other.checkpoints.acquireWriter('t')
  const soon = { ...input, now: () => Date.now() + 5_000 }
  const key = await put('1')
  expect(await sweepSandboxBlobs({ ...soon, checkpoints: other.checkpoints })).toStrictEqual([key])

  await put('1')
  const wrapped = { list: (prefix: string) => blobs.list(prefix), delete: (deleted: string) => blobs.delete(deleted) }
  expect(await sweepSandboxBlobs({ ...soon, blobs: wrapped })).toStrictEqual([key])

  const bucketName = `${engines.bucketName}-plain`
  await engines.s3.send(new CreateBucketCommand({ Bucket: bucketName }))
  const plain = stores({ bucketName })
  await plain.checkpoints.acquireWriter('t')
  await plain.put('1')
  expect(await sweepSandboxBlobs({ ...plain.input, now: soon.now })).toStrictEqual([key])
})
