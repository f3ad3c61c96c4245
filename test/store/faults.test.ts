import { afterAll, beforeEach, describe, expect, vi } from 'vitest'
import { createInstanceStore } from '../../src/instances/store.ts'
import { createKeyStore } from '../../src/keys/store.ts'
import { SHARDS } from '../../src/table/keys.ts'
import { expectReferences, expectUnchanged } from '../../testkit/checkpoints/assertions.ts'
import { append, checkpoint, file, fileKey } from '../../testkit/checkpoints/fixtures.ts'
import { startEngines } from '../support/engines.ts'
import { check } from './support/check.ts'
import { after, cancelled, connectionReset, injectFaults, refuse, serviceError, timeout } from './support/faults.ts'
import { freshStore, ids, outcome } from './support/stores.ts'

const slept = vi.hoisted(() => ({ delays: [] as number[] }))
vi.mock('node:timers/promises', async (original) => ({
  ...(await original<typeof import('node:timers/promises')>()),
  setTimeout: async (delay: number) => {
    slept.delays.push(delay)
    await new Promise(setImmediate)
  },
}))

const engines = await startEngines()
afterAll(engines.stop)
beforeEach(() => {
  slept.delays = []
})

const { dynamodb } = engines
const record = { key: 'k', provider: 'p', providerSandboxId: 's', threadId: 't', updatedAt: 1 }

/** A thread with one checkpoint, and its lease. */
async function started() {
  const { store, scope } = freshStore(engines)
  const lease = await store.acquireWriter('t')
  await append(store, lease, 'a', null, { files: [file('f', 1)] })
  return { store, scope, lease }
}

const transientErrors: Array<[string, () => Error]> = [
  ['ThrottlingException', () => serviceError('ThrottlingException', 400)],
  ['ProvisionedThroughputExceededException', () => serviceError('ProvisionedThroughputExceededException', 400)],
  ['RequestLimitExceeded', () => serviceError('RequestLimitExceeded', 400)],
  ['InternalServerError', () => serviceError('InternalServerError', 500)],
  ['a 503 of an unknown name', () => serviceError('Mystery', 503)],
  ['a 429 of an unknown name', () => serviceError('Mystery', 429)],
  ['a timeout', timeout],
  ['a reset connection', connectionReset],
]

describe('a transient error is waited out', () => {
  for (const [name, error] of transientErrors) {
    check(`${name}, by every kind of command`, async () => {
      const { store, scope, lease } = await started()
      const instances = createInstanceStore({ ...engines, scope })
      const keys = createKeyStore(engines)
      const faults = ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem', 'TransactWriteItems']
      using stack = new DisposableStack()
      const injected = faults.map((command) => stack.use(injectFaults(dynamodb, command, [refuse(error)])))

      await instances.upsert(record)
      expect(await instances.get('k')).toEqual(record)
      await instances.delete('k')
      await append(store, lease, 'b', 'a', { files: [file('f', 1)] })
      expect(ids(await store.list('t'))).toEqual(['a', 'b'])
      expect(await store.get('b')).not.toBeNull()
      await lease.renew()

      expect(injected.map(({ left }) => left)).toEqual(faults.map(() => 0))
      expect(slept.delays).toHaveLength(faults.length)
      await expectReferences(store, [[fileKey(1), 2]])
      expect(await keys.list()).toBeInstanceOf(Array)
    })
  }

  check('while the references are read', async () => {
    const { store } = await started()
    const throttled = refuse(() => serviceError('ThrottlingException', 400))
    using _faults = injectFaults(dynamodb, 'Query', [throttled, throttled, throttled])
    await expectReferences(store, [[fileKey(1), 1]])
    expect(slept.delays).toHaveLength(3)
  })

  check('while API keys are listed', async () => {
    const keys = createKeyStore(engines)
    const { record: created } = await keys.create({
      name: 'n',
      role: 'viewer',
      bindings: [{ tenant: 't', project: '*' }],
    })
    using _faults = injectFaults(dynamodb, 'Query', [refuse(timeout)])
    expect(await keys.list()).toContainEqual(created)
  })

  check('at each read of a fork', async () => {
    const { store } = await started()
    for (const command of ['GetItem', 'BatchGetItem']) {
      for (let skipped = 0; skipped < 4; skipped++) {
        const destination = `${command}-${skipped}`
        const writer = await store.acquireWriter(destination)
        const faults = [...Array.from({ length: skipped }, () => after(async () => undefined)), refuse(timeout)]
        using _faults = injectFaults(dynamodb, command, faults)
        await store.forkFromCheckpoint({
          sourceThreadId: 't',
          sourceCheckpointId: 'a',
          destinationThreadId: destination,
          destinationCheckpointId: destination,
          createdAt: 2,
          writer,
        })
        expect(await store.getHead(destination)).toBe(destination)
      }
    }
  })
})

describe('of a cancelled transaction', () => {
  for (const code of [
    'TransactionConflict',
    'ThrottlingError',
    'ProvisionedThroughputExceeded',
    'RequestLimitExceeded',
  ]) {
    for (const spelled of [code, code.toUpperCase(), code.toLowerCase()]) {
      check(`the reason ${spelled} is retried, by every kind of write`, async () => {
        const { store, lease } = await started()
        const busy = () => refuse(() => cancelled('None', spelled, 'NONE'))
        using faults = injectFaults(dynamodb, 'TransactWriteItems', [busy(), busy()])
        await append(store, lease, 'b', 'a')
        expect(faults).toMatchObject({ seen: 3, left: 0 })
        using more = injectFaults(dynamodb, 'TransactWriteItems', [busy()])
        await store.deleteHead({ threadId: 't', checkpointId: 'b', writer: lease })
        expect(more).toMatchObject({ seen: 2, left: 0 })
        expect(ids(await store.list('t'))).toEqual(['a'])
      })
    }
  }

  for (const code of ['ValidationError', 'ItemCollectionSizeLimitExceeded', 'SomethingNew']) {
    check(`the reason ${code} is no conflict and no reason to retry`, async () => {
      const { store, lease } = await started()
      await expectUnchanged(store, ['t'], ['a', 'b'], async () => {
        using faults = injectFaults(dynamodb, 'TransactWriteItems', [refuse(() => cancelled('None', code))])
        await expect(append(store, lease, 'b', 'a')).rejects.toMatchObject({ name: 'TransactionCanceledException' })
        expect(faults.seen).toBe(1)
      })
      await append(store, lease, 'b', 'a')
    })
  }

  check('a conflict beside a failed condition is retried, not read as a stale head', async () => {
    const { store, lease } = await started()
    using _faults = injectFaults(dynamodb, 'TransactWriteItems', [
      refuse(() => cancelled('ConditionalCheckFailed', 'TransactionConflict', 'None')),
    ])
    await append(store, lease, 'b', 'a')
    expect(await store.getHead('t')).toBe('b')
  })

  check('a conflict with another request on the thread item is retried by the lease', async () => {
    const { store, lease } = await started()
    const busy = refuse(() => serviceError('TransactionConflictException', 400))
    using _faults = injectFaults(dynamodb, 'UpdateItem', [busy, busy, busy])
    await lease.renew()
    expect(await store.deleteCheckpoints({ threadId: 't', keep: 1, writer: lease })).toEqual({ deleted: [] })
  })
})

describe('an error that lasts', () => {
  check('is UNAVAILABLE after a bounded time, and nothing has changed', async () => {
    const { store, scope, lease } = await started()
    const instances = createInstanceStore({ ...engines, scope })
    const keys = createKeyStore(engines)
    const writer = await store.acquireWriter('other')
    const calls: Array<() => Promise<unknown>> = [
      () => store.get('a'),
      () => store.getHead('t'),
      () => store.list('t'),
      () => store.listPage({ threadId: 't', maxBytes: 1 }),
      () => store.listBlobReferences(),
      () => append(store, lease, 'b', 'a'),
      () => store.deleteHead({ threadId: 't', checkpointId: 'a', writer: lease }),
      () => store.deleteCheckpoints({ threadId: 't', keep: 1, writer: lease }),
      () =>
        store.forkFromCheckpoint({
          sourceThreadId: 't',
          sourceCheckpointId: 'a',
          destinationThreadId: 'other',
          destinationCheckpointId: 'b',
          createdAt: 2,
          writer,
        }),
      () => store.acquireWriter('another'),
      () => lease.renew(),
      () => lease.release(),
      () => instances.get('k'),
      () => instances.upsert(record),
      () => instances.delete('k'),
      () => keys.list(),
      () => keys.create({ name: 'n', role: 'viewer', bindings: [{ tenant: 't', project: 'p' }] }),
      () => keys.revoke('0123456789abcdef'),
      () => keys.verify(`skp_0123456789abcdef_${'0'.repeat(64)}`),
    ]
    const commands = ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem', 'TransactWriteItems']
    const throttled = refuse(() => serviceError('ThrottlingException', 400))
    await expectUnchanged(store, ['t', 'other'], ['a', 'b'], async () => {
      for (const call of calls) {
        using stack = new DisposableStack()
        for (const command of commands) {
          stack.use(
            injectFaults(
              dynamodb,
              command,
              Array.from({ length: 100 }, () => throttled),
            ),
          )
        }
        slept.delays = []
        expect(await outcome(call()), String(call)).toBe('unavailable')
        expect(slept.delays.length, String(call)).toBeGreaterThanOrEqual(4)
        // Seven waits for each request; some are sent at the same time.
        expect(slept.delays.length, String(call)).toBeLessThanOrEqual(7 * SHARDS.length)
        expect(Math.max(...slept.delays)).toBeLessThanOrEqual(1_000)
      }
    })
  })

  check('is no reason to wait when it is not transient', async () => {
    const { store } = await started()
    using faults = injectFaults(dynamodb, 'GetItem', [refuse(() => serviceError('AccessDeniedException', 400))])
    await expect(store.getHead('t')).rejects.toMatchObject({ name: 'AccessDeniedException' })
    expect(faults.seen).toBe(1)
    expect(slept.delays).toEqual([])
  })
})

describe('a partial answer', () => {
  check('of a batch is asked for again', async () => {
    const { store } = await started()
    const partial = (kept: number) => async (send: () => Promise<unknown>) => {
      const { output } = (await send()) as {
        output: { Responses: Record<string, unknown[]>; UnprocessedKeys: unknown }
      }
      const [table = ''] = Object.keys(output.Responses)
      output.Responses[table] = output.Responses[table]?.slice(0, kept) ?? []
      output.UnprocessedKeys = { [table]: { Keys: [{ pk: 'x', sk: 'y' }] } }
      return { output }
    }
    using faults = injectFaults(dynamodb, 'BatchGetItem', [partial(0), partial(1), partial(0)])
    expect(await store.get('a')).toMatchObject(checkpoint('t', 'a', null, { files: [file('f', 1)] }))
    expect(faults).toMatchObject({ seen: 4, left: 0 })
  })

  check('of a query is continued, an empty one too', async () => {
    const { store, lease } = await started()
    await append(store, lease, 'b', 'a', { files: [file('f', 1), file('g', 2)] })
    const onePage = (limit: number) => async (send: () => Promise<unknown>, input: Record<string, unknown>) => {
      input.Limit = limit
      return send()
    }
    for (const read of [() => store.list('t'), () => store.listPage({ threadId: 't', maxBytes: 1e9 })]) {
      using faults = injectFaults(dynamodb, 'Query', [onePage(1), onePage(1), onePage(1), onePage(1)])
      const answer = await read()
      expect(ids(Array.isArray(answer) ? answer : answer.checkpoints)).toEqual(['a', 'b'])
      expect(faults.seen).toBeGreaterThanOrEqual(3)
    }
    using _faults = injectFaults(
      dynamodb,
      'Query',
      Array.from({ length: 20 }, () => onePage(1)),
    )
    await expectReferences(store, [
      [fileKey(1), 2],
      [fileKey(2), 1],
    ])
  })
})
