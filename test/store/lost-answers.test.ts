import { createHash } from 'node:crypto'
import { DeleteItemCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, describe, expect, vi } from 'vitest'
import { createBlobStore } from '../../src/blobs/store.ts'
import { createInstanceStore } from '../../src/instances/store.ts'
import { idKey } from '../../src/table/keys.ts'
import { hashText } from '../../src/text.ts'
import { expectList, expectReferences } from '../../testkit/checkpoints/assertions.ts'
import { append, checkpoint, file, fileKey, grow } from '../../testkit/checkpoints/fixtures.ts'
import { startEngines } from '../support/engines.ts'
import { check } from './support/check.ts'
import { after, connectionReset, injectFaults, loseAnswer, refuse, serviceError, timeout } from './support/faults.ts'
import { freshStore, outcome } from './support/stores.ts'

vi.mock('node:timers/promises', async (original) => ({
  ...(await original<typeof import('node:timers/promises')>()),
  setTimeout: () => new Promise(setImmediate),
}))

const engines = await startEngines()
afterAll(engines.stop)
const { dynamodb } = engines

/** A thread t of a and b, and its lease. */
async function started() {
  const { store, scope } = freshStore(engines)
  const lease = await store.acquireWriter('t')
  await grow(store, lease, ['a', 'b'])
  return { store, scope, lease }
}

const lost: Array<[string, () => Error]> = [
  ['a timeout', timeout],
  ['a reset connection', connectionReset],
  ['a 500', () => serviceError('InternalServerError', 500)],
]

const appendB = (requestToken?: string) => ({
  checkpoint: checkpoint('t', 'c', 'b', { files: [file('f', 1)] }),
  expectedHeadId: 'b',
  ...(requestToken !== undefined && { requestToken }),
})
const forkOf = (requestToken?: string) => ({
  sourceThreadId: 't',
  sourceCheckpointId: 'a',
  destinationThreadId: 'fork',
  destinationCheckpointId: 'f',
  createdAt: 3,
  ...(requestToken !== undefined && { requestToken }),
})

for (const [name, error] of lost) {
  describe(`a write that lands while its answer is lost to ${name} happens once`, () => {
    check(`append (${name})`, async () => {
      const { store, lease } = await started()
      using faults = injectFaults(dynamodb, 'TransactWriteItems', [loseAnswer(error)])
      expect(await store.append({ ...appendB(), writer: lease })).toEqual({ headId: 'c' })
      expect(faults.left).toBe(0)
      await expectList(store, 't', ['a', 'b', 'c'])
      await expectReferences(store, [
        [fileKey(1), 2],
        [fileKey(2), 1],
      ])
      await append(store, lease, 'd', 'c')
    })

    check(`append, when another write of the lease comes before the repeat (${name})`, async () => {
      const { store, lease } = await started()
      const { threadId, ownerToken, fence } = lease
      const landed = async (send: () => Promise<unknown>) => {
        await send()
        await append(store, { threadId, ownerToken, fence }, 'd', 'c')
        throw error()
      }
      using faults = injectFaults(dynamodb, 'TransactWriteItems', [landed])
      expect(await store.append({ ...appendB(), writer: lease })).toEqual({ headId: 'c' })
      expect(faults.left).toBe(0)
      await expectList(store, 't', ['a', 'b', 'c', 'd'])
    })

    check(`append, when the lease is gone before the repeat (${name})`, async () => {
      const { store, lease } = await started()
      const landed = async (send: () => Promise<unknown>) => {
        await send()
        await lease.release()
        await append(store, await store.acquireWriter('t'), 'd', 'c')
        throw error()
      }
      using _faults = injectFaults(dynamodb, 'TransactWriteItems', [landed])
      expect(await store.append({ ...appendB(), writer: lease })).toEqual({ headId: 'c' })
      await expectList(store, 't', ['a', 'b', 'c', 'd'])
    })

    check(`deleteHead (${name})`, async () => {
      const { store, lease } = await started()
      using faults = injectFaults(dynamodb, 'TransactWriteItems', [loseAnswer(error)])
      await store.deleteHead({ threadId: 't', checkpointId: 'b', writer: lease })
      expect(faults.left).toBe(0)
      await expectList(store, 't', ['a'])
      await expectReferences(store, [[fileKey(1), 1]])
    })

    check(`deleteCheckpoints (${name})`, async () => {
      const { store, lease } = await started()
      using faults = injectFaults(dynamodb, 'UpdateItem', [loseAnswer(error)])
      expect(await store.deleteCheckpoints({ threadId: 't', keep: 1, writer: lease })).toEqual({ deleted: ['a'] })
      expect(faults.left).toBe(0)
      await expectList(store, 't', ['b'])
      await append(store, lease, 'a', 'b')
    })

    check(`forkFromCheckpoint (${name})`, async () => {
      const { store } = await started()
      const writer = await store.acquireWriter('fork')
      using faults = injectFaults(dynamodb, 'TransactWriteItems', [loseAnswer(error)])
      const { checkpoint: forked } = await store.forkFromCheckpoint({ ...forkOf(), writer })
      expect(faults.left).toBe(0)
      expect(await store.list('fork')).toEqual([forked])
    })

    check(`acquireWriter, of a new thread and of a known one (${name})`, async () => {
      const { store } = freshStore(engines)
      for (let round = 1; round <= 3; round++) {
        using faults = injectFaults(dynamodb, 'UpdateItem', [loseAnswer(error), loseAnswer(error)])
        const lease = await store.acquireWriter('t')
        expect(lease.fence).toBe(round)
        expect(faults.left).toBe(0)
        expect(await outcome(store.acquireWriter('t'))).toBe('WRITER_CONFLICT')
        await lease.renew()
        await lease.release()
      }
    })

    check(`renew and release (${name})`, async () => {
      const { store, lease } = await started()
      using faults = injectFaults(dynamodb, 'UpdateItem', [loseAnswer(error)])
      await lease.renew()
      expect(faults.left).toBe(0)
      using more = injectFaults(dynamodb, 'UpdateItem', [loseAnswer(error)])
      await lease.release()
      expect(more.left).toBe(0)
      expect((await store.acquireWriter('t')).fence).toBe(2)
    })

    check(`put of a blob, delete of a blob, upsert and delete of an instance (${name})`, async () => {
      const scope = engines.freshScope()
      const blobs = createBlobStore({ ...engines, scope })
      const bytes = Buffer.from('blob')
      const key = `sandbox-files/sha256/${createHash('sha256').update(bytes).digest('hex')}`
      using _put = injectFaults(engines.s3, 'PutObject', [loseAnswer(error)])
      using _gone = injectFaults(engines.s3, 'DeleteObject', [loseAnswer(error)])
      await blobs.put(key, bytes)
      expect(await blobs.head(key)).toMatchObject({ size: 4 })
      await blobs.delete(key)
      expect(await blobs.head(key)).toBeNull()
      const instances = createInstanceStore({ ...engines, scope })
      const record = { key: 'k', provider: 'p', providerSandboxId: 's', threadId: 't', updatedAt: 1 }
      using _upsert = injectFaults(dynamodb, 'PutItem', [loseAnswer(error)])
      using _delete = injectFaults(dynamodb, 'DeleteItem', [loseAnswer(error)])
      await instances.upsert(record)
      expect(await instances.get('k')).toEqual(record)
      await instances.delete('k')
      expect(await instances.get('k')).toBeNull()
    })
  })
}

describe('a repeat with the same requestToken', () => {
  check('of an append is answered as the first was, and so after other writes', async () => {
    const { store, lease } = await started()
    const input = { ...appendB('one'), writer: lease }
    for (let round = 0; round < 3; round++) expect(await store.append(input)).toEqual({ headId: 'c' })
    await append(store, lease, 'd', 'c')
    expect(await store.append(input)).toEqual({ headId: 'c' })
    await expectList(store, 't', ['a', 'b', 'c', 'd'])
    expect(await outcome(store.append({ ...appendB('two'), writer: lease }))).toBe('DUPLICATE_ID')
    expect(await outcome(store.append({ ...appendB(), writer: lease }))).toBe('DUPLICATE_ID')
  })

  check('of a deleteHead is answered as the first was', async () => {
    const { store, lease } = await started()
    const input = { threadId: 't', checkpointId: 'b', writer: lease, requestToken: 'one' }
    for (let round = 0; round < 3; round++) await store.deleteHead(input)
    await expectList(store, 't', ['a'])
    expect(await outcome(store.deleteHead({ ...input, requestToken: 'two' }))).toBe('NOT_HEAD')
  })

  check('of a fork is answered as the first was', async () => {
    const { store } = await started()
    const writer = await store.acquireWriter('fork')
    const input = { ...forkOf('one'), writer }
    const first = await store.forkFromCheckpoint(input)
    expect(await store.forkFromCheckpoint(input)).toEqual(first)
    expect(await store.list('fork')).toEqual([first.checkpoint])
    expect(await outcome(store.forkFromCheckpoint({ ...input, requestToken: 'two' }))).toBe(
      'FORK_DESTINATION_NOT_EMPTY',
    )
  })

  check('is one of the same write only: for another it is a new token', async () => {
    const { store, lease } = await started()
    const requestToken = 'constant'
    const write = (id: string, parent: string) =>
      store.append({ checkpoint: checkpoint('t', id, parent), expectedHeadId: parent, writer: lease, requestToken })
    await write('c', 'b')
    await write('d', 'c')
    await expectList(store, 't', ['a', 'b', 'c', 'd'])
    await store.deleteHead({ threadId: 't', checkpointId: 'd', writer: lease, requestToken })
    await store.deleteHead({ threadId: 't', checkpointId: 'c', writer: lease, requestToken })
    await expectList(store, 't', ['a', 'b'])
    await write('c', 'b')
    await expectList(store, 't', ['a', 'b', 'c'])
  })

  check('may be any text', async () => {
    const { store, lease } = await started()
    let parent = 'b'
    for (const requestToken of ['', '\ud800', 'x'.repeat(500_000)]) {
      const id = `after ${parent}`
      const input = { checkpoint: checkpoint('t', id, parent), expectedHeadId: parent, writer: lease, requestToken }
      using _faults = injectFaults(dynamodb, 'TransactWriteItems', [loseAnswer()])
      await store.append(input)
      await store.append(input)
      parent = id
    }
    expect(await store.getHead('t')).toBe(parent)
  })
})

describe('an id', () => {
  check('that a prune freed can be taken while the prune clears its item away', async () => {
    const { store, scope, lease } = await started()
    {
      // The prune is cut off before it clears anything away.
      using _faults = injectFaults(
        dynamodb,
        'DeleteItem',
        Array.from({ length: 50 }, () => refuse(() => new Error('killed'))),
      )
      await store.deleteCheckpoints({ threadId: 't', keep: 1, writer: lease })
    }
    const key = idKey(scope, hashText('a'))
    const clear = () =>
      dynamodb.send(
        new DeleteItemCommand({ TableName: engines.tableName, Key: { pk: { S: key.pk }, sk: { S: key.sk } } }),
      )
    // Between the attempt that meets the dead id and the one that would replace it.
    using faults = injectFaults(dynamodb, 'TransactWriteItems', [(send) => send(), after(clear)])
    await append(store, lease, 'a', 'b')
    expect(faults.left).toBe(0)
    await expectList(store, 't', ['b', 'a'])
  })
})
