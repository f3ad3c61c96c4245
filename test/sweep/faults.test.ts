import { DeleteObjectsCommand, type DeleteObjectsCommandInput, type S3Client } from '@aws-sdk/client-s3'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { type Fault, injectFaults, refuse, serviceError } from '../store/support/faults.ts'
import { startEngines } from '../support/engines.ts'
import {
  ownClients,
  putObjects,
  type ScopeUnderSweep,
  sampleKeys,
  scopeUnderSweep,
} from './support/scope-under-sweep.ts'

vi.mock('node:timers/promises', async (original) => ({
  ...(await original<typeof import('node:timers/promises')>()),
  setTimeout: () => new Promise(setImmediate),
}))

const engines = await startEngines()
afterAll(engines.stop)

/** DeleteObjects leaves the keys that end so, with an error for each. */
function refuseKeys(s3: S3Client, ends: (key: string) => boolean, code: string): { release: () => void } {
  const name = 'refuse-keys'
  s3.middlewareStack.add(
    (next, context) => async (args) => {
      if (context.commandName !== 'DeleteObjectsCommand') return next(args)
      const { Bucket, Delete } = args.input as DeleteObjectsCommandInput
      const Objects = Delete?.Objects ?? []
      const allowed = Objects.filter(({ Key = '' }) => !ends(Key))
      const refused = Objects.filter(({ Key = '' }) => ends(Key))
      if (allowed.length > 0) {
        await engines.s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: allowed, Quiet: true } }))
      }
      const Errors = refused.map(({ Key, VersionId }) => ({ Key, VersionId, Code: code, Message: 'injected' }))
      return { output: { Errors, $metadata: {} }, response: {} }
    },
    { name, step: 'initialize' },
  )
  return { release: () => void s3.middlewareStack.remove(name) }
}

async function putAll(scope: ScopeUnderSweep, texts: string[]): Promise<string[]> {
  const keys: string[] = []
  for (const text of texts) keys.push(await scope.put(text))
  return keys
}

describe('deletes that S3 refuses', () => {
  it('are reported after the others were tried, and tried again by the next run', async () => {
    const scope = scopeUnderSweep(engines)
    const keys = (await putAll(scope, ['1', '2', '3', '4', '5'])).toSorted()
    const [refused = '', ...others] = keys
    const clients = ownClients(engines)
    const { release } = refuseKeys(clients.s3, (key) => key.endsWith(refused), 'AccessDenied')

    const first = await scope.sweep({}, clients)
    expect(first).toMatchObject({
      deletedBlobs: others,
      waiting: false,
      counts: { condemned: 5, deleted: 4, bytesFreed: 4 },
    })
    expect(first.failures).toEqual([{ key: refused, reason: 'AccessDenied: injected' }])
    expect(await scope.stored()).toEqual([refused])

    // It keeps nothing else from being condemned, and is not condemned twice itself.
    const another = await scope.put('another')
    const second = await scope.sweep({}, clients)
    expect(second).toMatchObject({ deletedBlobs: [another], counts: { condemned: 1, deleted: 1 } })
    expect(second.failures).toHaveLength(1)
    // Nobody is told that it is there: it may go at any time.
    expect(await scope.blobs.head(refused)).toBeNull()

    release()
    expect(await scope.sweep({}, clients)).toMatchObject({
      deletedBlobs: [refused],
      failures: [],
      counts: { deleted: 1 },
    })
    expect(await scope.state()).toEqual([])
  })

  it('are counted by version', async () => {
    const scope = scopeUnderSweep(engines)
    const [key = ''] = sampleKeys(1)
    for (const again of [key, key, key]) await putObjects(engines, scope, [again])
    const hidden = (await scope.versions('blobs')).at(-1)?.versionId
    const clients = ownClients(engines)
    const fault: Fault = async (_send, { Bucket, Delete }) => {
      const { Objects = [] } = Delete as NonNullable<DeleteObjectsCommandInput['Delete']>
      const allowed = Objects.filter(({ VersionId }) => VersionId !== hidden)
      await engines.s3.send(new DeleteObjectsCommand({ Bucket: Bucket as string, Delete: { Objects: allowed } }))
      const [error] = Objects.filter(({ VersionId }) => VersionId === hidden)
      return { output: { Errors: [{ ...error, Code: 'AccessDenied' }], $metadata: {} }, response: {} }
    }
    injectFaults(clients.s3, 'DeleteObjects', [fault])
    expect(await scope.sweep({}, clients)).toMatchObject({ counts: { deleted: 2, bytesFreed: 2 } })
    // The last version comes to be read again; nobody is told that it is there.
    expect(await scope.blobs.head(key)).toBeNull()
    expect(await scope.sweep({}, clients)).toMatchObject({ counts: { deleted: 1, bytesFreed: 1 } })
    expect(await scope.versions('blobs')).toEqual([])
  })

  it('of some keys because S3 is busy are sent again', async () => {
    const scope = scopeUnderSweep(engines)
    const keys = await putAll(scope, ['1', '2', '3'])
    const clients = ownClients(engines)
    const slowDown: Fault = async () => ({
      output: { Errors: [{ Key: 'x', Code: 'SlowDown' }], $metadata: {} },
      response: {},
    })
    const seen = injectFaults(clients.s3, 'DeleteObjects', [
      slowDown,
      refuse(() => serviceError('SlowDown', 503)),
      slowDown,
    ])
    expect(await scope.sweep({}, clients)).toMatchObject({ deletedBlobs: keys.toSorted(), failures: [] })
    expect(seen).toMatchObject({ seen: 4, left: 0 })
  })

  it('for as long as S3 is busy end the run, and the next one goes on', async () => {
    const scope = scopeUnderSweep(engines)
    const keys = await putAll(scope, ['1', '2', '3'])
    const clients = ownClients(engines)
    injectFaults(clients.s3, 'DeleteObjects', Array<Fault>(8).fill(refuse(() => serviceError('SlowDown', 503))))
    await expect(scope.sweep({}, clients)).rejects.toMatchObject({ code: 'unavailable' })
    expect(await scope.stored()).toHaveLength(3)
    expect(await scope.blobs.head(keys[0] ?? '')).toBeNull()
    expect(await scope.sweep({}, clients)).toMatchObject({ deletedBlobs: keys.toSorted(), counts: { condemned: 0 } })
  })
})

describe('a read that fails stops the sweep before it deletes', () => {
  const denied = () => serviceError('AccessDenied', 403)
  const pass: Fault = (send) => send()

  it('a page of the list, half-way', async () => {
    const scope = scopeUnderSweep(engines)
    await putObjects(engines, scope, sampleKeys(1_001))
    for (const broken of [denied, () => new Error('broken answer')]) {
      const clients = ownClients(engines)
      // After that of the staging: the first page passes.
      injectFaults(clients.s3, 'ListObjectVersions', [pass, pass, refuse(broken)])
      const deletes = injectFaults(clients.s3, 'DeleteObjects', [])
      await expect(scope.sweep({}, clients)).rejects.toThrow(broken().message)
      expect(deletes.seen).toBe(0)
      expect(await scope.versions('blobs')).toHaveLength(1_001)
    }
    const clients = ownClients(engines)
    const busy = refuse(() => serviceError('SlowDown', 503))
    injectFaults(clients.s3, 'ListObjectVersions', [pass, pass, busy, busy])
    expect(await scope.sweep({}, clients)).toMatchObject({ counts: { deleted: 1_001 } })
  })

  it('any of the table', async () => {
    const scope = scopeUnderSweep(engines)
    const used = await scope.put('used')
    await scope.commit('thread', [used])
    let refused = 0
    for (let passed = 0; ; passed++) {
      const unused = await scope.put('unused')
      const clients = ownClients(engines)
      const queries = injectFaults(clients.dynamodb, 'Query', [...Array<Fault>(passed).fill(pass), refuse(denied)])
      const deletes = injectFaults(clients.s3, 'DeleteObjects', [])
      const result = await scope.sweep({}, clients).catch((error: Error) => error)
      if (queries.left > 0) {
        expect(result).toMatchObject({ failures: [] })
        break
      }
      refused += 1
      expect(result).toMatchObject({ name: 'AccessDenied' })
      expect(await scope.stored()).toContain(used)
      if (deletes.seen === 0) expect(await scope.stored()).toContain(unused)
    }
    expect(refused).toBeGreaterThan(20)
    await scope.sweep()
    expect(await scope.stored()).toEqual([used])
  })

  it('the references, in the middle of those of many threads', async () => {
    const scope = scopeUnderSweep(engines)
    const used = await putAll(scope, ['1', '2', '3', '4', '5', '6'])
    for (const [index, key] of used.entries()) await scope.commit(`thread ${index}`, [key])
    const writer = await scope.checkpoints.acquireWriter('thread')
    const unused = await scope.put('unused')
    await scope.sweep()
    await writer.release()
    for (let passed = 0; passed < 12; passed++) {
      const clients = ownClients(engines)
      injectFaults(clients.dynamodb, 'Query', [...Array<Fault>(passed).fill(pass), refuse(denied)])
      await scope.sweep({}, clients).catch(() => undefined)
      expect(await scope.stored()).toEqual(expect.arrayContaining(used))
    }
    await scope.sweep()
    expect(await scope.stored()).toEqual(used.toSorted())
    expect(await scope.blobs.head(unused)).toBeNull()
  })
})

it('waits for a table that is busy', async () => {
  const scope = scopeUnderSweep(engines)
  const key = await scope.put('unused')
  const clients = ownClients(engines)
  const busy = refuse(() => serviceError('ProvisionedThroughputExceededException', 400))
  injectFaults(clients.dynamodb, 'Query', [busy, busy, busy])
  const puts = injectFaults(clients.dynamodb, 'PutItem', [busy, busy])
  const updates = injectFaults(clients.dynamodb, 'UpdateItem', [busy, busy])
  expect(await scope.sweep({}, clients)).toMatchObject({ deletedBlobs: [key] })
  expect([puts.left, updates.left]).toEqual([0, 0])
})
