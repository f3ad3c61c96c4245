import { createHash } from 'node:crypto'
import { DeleteObjectCommand, ListObjectsV2Command, S3ServiceException } from '@aws-sdk/client-s3'
import { afterAll, describe, expect, vi } from 'vitest'
import { createBlobStore } from '../../src/blobs/store.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { expectUnchanged } from '../../testkit/checkpoints/assertions.ts'
import { append, file } from '../../testkit/checkpoints/fixtures.ts'
import { startEngines } from '../support/engines.ts'
import { check } from './support/check.ts'
import {
  cancelled,
  connectionReset,
  injectFaults,
  loseAnswer,
  refuse,
  serviceError,
  timeout,
} from './support/faults.ts'
import { freshStore, ids, outcome, seededRandom } from './support/stores.ts'

vi.mock('node:timers/promises', async (original) => ({
  ...(await original<typeof import('node:timers/promises')>()),
  setTimeout: () => new Promise(setImmediate),
}))

const engines = await startEngines()
afterAll(engines.stop)
const { dynamodb, s3 } = engines

/** Text that stays too large for an item. */
function large(seed: number): string {
  const random = seededRandom(seed)
  return Array.from({ length: 3_000 }, () => random().toString(36).slice(2)).join('')
}

/** A thread t of a, whose body is an object. */
async function started() {
  const { store, scope } = freshStore(engines)
  const lease = await store.acquireWriter('t')
  await append(store, lease, 'a', null, { label: large(1), files: [file('f', 1)] })
  expect(await bodies(scope)).toHaveLength(1)
  return { store, scope, lease }
}

/** The objects of the bodies of a scope's checkpoints. */
async function bodies({ tenant, project }: Scope): Promise<string[]> {
  const prefix = `bodies/${tenant}/${project}/`
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: engines.bucketName, Prefix: prefix }))
  return Contents.map(({ Key = '' }) => Key)
}

const busy: Array<[string, () => Error]> = [
  ['503 SlowDown', () => serviceError('SlowDown', 503)],
  ['500 InternalError', () => serviceError('InternalError', 500)],
  ['400 RequestTimeout', () => serviceError('RequestTimeout', 400)],
  ['a timeout', timeout],
  ['a reset connection', connectionReset],
]

describe('a busy S3 is waited for', () => {
  for (const [name, error] of busy) {
    check(`by every read and write of a large checkpoint (${name})`, async () => {
      const { store, scope, lease } = await started()
      using put = injectFaults(s3, 'PutObject', [refuse(error), refuse(error)])
      await append(store, lease, 'b', 'a', { label: large(2), files: [file('f', 1)] })
      expect(put.left).toBe(0)
      expect(await bodies(scope)).toHaveLength(2)
      for (const read of [() => store.get('a'), () => store.list('t'), () => store.listBlobReferences()]) {
        using faults = injectFaults(s3, 'GetObject', [refuse(error), refuse(error)])
        expect(await read()).toBeTruthy()
        expect(faults.left).toBe(0)
      }
    })

    check(`by every call of the blob store (${name})`, async () => {
      const blobs = createBlobStore({ ...engines, scope: engines.freshScope() })
      const bytes = Buffer.from('blob')
      const key = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`
      const commands = ['PutObject', 'GetObject', 'HeadObject', 'ListObjectsV2', 'DeleteObjects']
      using stack = new DisposableStack()
      const injected = commands.map((command) => stack.use(injectFaults(s3, command, [refuse(error), refuse(error)])))
      await blobs.put(key, bytes)
      expect(await blobs.head(key)).toMatchObject({ size: 4 })
      expect((await blobs.get(key))?.size).toBe(4)
      expect(await blobs.list('')).toHaveLength(1)
      await blobs.delete(key)
      expect(await blobs.list('')).toEqual([])
      expect(injected.map(({ left }) => left)).toEqual(commands.map(() => 0))
    })
  }

  check('for a bounded time, then the call is UNAVAILABLE', async () => {
    const { store, scope, lease } = await started()
    const blobs = createBlobStore({ ...engines, scope })
    const key = `sandbox-files/sha256/${createHash('sha256').update('').digest('hex')}`
    const calls: Array<() => Promise<unknown>> = [
      () => store.get('a'),
      () => store.list('t'),
      () => store.listPage({ threadId: 't', maxBytes: 1 }),
      () => append(store, lease, 'b', 'a', { label: large(2) }),
      () => blobs.put(key, new Uint8Array()),
      () => blobs.get(key),
      () => blobs.head(key),
      () => blobs.list(''),
      () => blobs.delete(key),
      () => blobs.prepareUploads([{ key, size: 0 }]),
      () => blobs.prepareDownloads([key]),
    ]
    const commands = ['PutObject', 'GetObject', 'HeadObject', 'ListObjectsV2', 'DeleteObject']
    await expectUnchanged(store, ['t'], ['a', 'b'], async () => {
      for (const call of calls) {
        using stack = new DisposableStack()
        const down = Array.from({ length: 100 }, () => refuse(() => serviceError('SlowDown', 503)))
        for (const command of commands) stack.use(injectFaults(s3, command, down))
        expect(await outcome(call()), String(call)).toBe('unavailable')
      }
    })
  })
})

describe('a blob', () => {
  const bytes = Buffer.from('blob')
  const key = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`

  check('that another is writing just now (409) is put again; one that is there (412) is put', async () => {
    const blobs = createBlobStore({ ...engines, scope: engines.freshScope() })
    const conflict = () =>
      new S3ServiceException({
        name: 'ConditionalRequestConflict',
        $fault: 'client',
        $metadata: { httpStatusCode: 409 },
      })
    using faults = injectFaults(s3, 'PutObject', [refuse(conflict), loseAnswer()])
    await blobs.put(key, bytes)
    expect(faults).toMatchObject({ seen: 3, left: 0 })
    expect(await blobs.head(key)).toMatchObject({ size: 4 })
  })

  check('that is refused for good is not put again', async () => {
    const blobs = createBlobStore({ ...engines, scope: engines.freshScope() })
    using faults = injectFaults(s3, 'PutObject', [refuse(() => serviceError('AccessDenied', 403))])
    await expect(blobs.put(key, bytes)).rejects.toMatchObject({ name: 'AccessDenied' })
    expect(faults.seen).toBe(1)
  })
})

describe('the object of a body', () => {
  check('is not left by a put whose answer is lost', async () => {
    const { store, scope, lease } = await started()
    using faults = injectFaults(s3, 'PutObject', [loseAnswer(), loseAnswer()])
    await append(store, lease, 'b', 'a', { label: large(2) })
    expect(faults.left).toBe(0)
    expect(await bodies(scope)).toHaveLength(2)
  })

  check('is not left when the put fails for good, and nothing is written', async () => {
    const { store, scope, lease } = await started()
    for (const fault of [refuse, loseAnswer]) {
      await expectUnchanged(store, ['t'], ['a', 'b'], async () => {
        using faults = injectFaults(s3, 'PutObject', [fault(() => serviceError('AccessDenied', 403))])
        using commits = injectFaults(dynamodb, 'TransactWriteItems', [])
        await expect(append(store, lease, 'b', 'a', { label: large(2) })).rejects.toMatchObject({
          name: 'AccessDenied',
        })
        expect(faults.seen).toBe(1)
        expect(commits.seen).toBe(0)
      })
      expect(await bodies(scope)).toHaveLength(1)
    }
  })

  check('is not left when the commit is refused', async () => {
    const { store, scope, lease } = await started()
    const other = await store.acquireWriter('other')
    await append(store, other, 'used', null)
    const label = large(2)
    expect(await outcome(append(store, lease, 'used', 'a', { label }))).toBe('DUPLICATE_ID')
    expect(await outcome(append(store, lease, 'b', 'x', { label }))).toBe('STALE_HEAD')
    const takenOver = async () => {
      await lease.release()
      const next = await store.acquireWriter('t')
      await append(store, next, 'b', 'a')
      await next.release()
      throw cancelled('TransactionConflict')
    }
    using faults = injectFaults(dynamodb, 'TransactWriteItems', [takenOver])
    expect(await outcome(append(store, lease, 'c', 'a', { label }))).toBe('WRITER_LOST')
    expect(faults.left).toBe(0)
    const writer = await store.acquireWriter('t')
    using _invalid = injectFaults(dynamodb, 'TransactWriteItems', [refuse(() => cancelled('ValidationError'))])
    expect(await outcome(append(store, writer, 'c', 'b', { label }))).toBe('TransactionCanceledException')
    expect(await bodies(scope)).toHaveLength(1)
  })

  check('stays when the fate of the commit is not known', async () => {
    const { store, scope, lease } = await started()
    const label = large(2)
    // The answer is lost, and after it the table cannot be reached.
    using _commit = injectFaults(dynamodb, 'TransactWriteItems', [loseAnswer()])
    {
      using _reads = injectFaults(
        dynamodb,
        'GetItem',
        Array.from({ length: 50 }, () => refuse(timeout)),
      )
      expect(await outcome(append(store, lease, 'b', 'a', { label }))).toBe('unavailable')
    }
    expect(await store.getHead('t')).toBe('b')
    expect((await store.get('b'))?.label).toBe(label)
    expect(await bodies(scope)).toHaveLength(2)
  })

  check('goes with its checkpoint, also when the answer of the delete is lost', async () => {
    const { store, scope, lease } = await started()
    await append(store, lease, 'b', 'a', { label: large(2) })
    await append(store, lease, 'c', 'b', { label: large(3) })
    using faults = injectFaults(dynamodb, 'TransactWriteItems', [loseAnswer()])
    await store.deleteHead({ threadId: 't', checkpointId: 'c', writer: lease })
    expect(faults.left).toBe(0)
    expect(await bodies(scope)).toHaveLength(2)
    await store.deleteCheckpoints({ threadId: 't', keep: 1, writer: lease })
    expect(await bodies(scope)).toHaveLength(1)
  })

  check('that goes between the read of its item and its own read is no error', async () => {
    const { store, scope, lease } = await started()
    await append(store, lease, 'b', 'a', { label: large(2) })
    const [object = ''] = await bodies(scope)
    const prune = async (send: () => Promise<unknown>) => {
      await store.deleteCheckpoints({ threadId: 't', keep: 1, writer: lease })
      return send()
    }
    expect(object).not.toBe('')
    {
      using _faults = injectFaults(s3, 'GetObject', [prune])
      expect(ids(await store.list('t'))).toEqual(['b'])
    }
    const deleteHead = async (send: () => Promise<unknown>) => {
      await store.deleteHead({ threadId: 't', checkpointId: 'b', writer: lease })
      return send()
    }
    using _faults = injectFaults(s3, 'GetObject', [deleteHead])
    expect(await store.get('b')).toBeNull()
  })

  check('that was lost is an error, not a missing checkpoint', async () => {
    const { store, scope } = await started()
    const [Key = ''] = await bodies(scope)
    await s3.send(new DeleteObjectCommand({ Bucket: engines.bucketName, Key }))
    for (const read of [() => store.get('a'), () => store.list('t'), () => store.listBlobReferences()]) {
      expect(await outcome(read())).toBe('unavailable')
    }
  })
})
