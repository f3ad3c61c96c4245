import { GetObjectCommand, NoSuchKey, PutObjectCommand } from '@aws-sdk/client-s3'
import { afterAll, describe, expect, it } from 'vitest'
import { NotFoundError, UnavailableError } from '../../src/errors.ts'
import {
  cancelled,
  connectionReset,
  type Fault,
  injectFaults,
  loseAnswer,
  refuse,
  serviceError,
} from '../store/support/faults.ts'
import { send } from '../store/support/send.ts'
import { kept } from './support/leftovers.ts'
import { contentOf, DAY, HOUR, listed, newFile, start, world } from './support/world.ts'

const engines = await start()
afterAll(() => engines.stop())

const passing: [what: string, fault: Fault][] = [
  ['a lost answer', loseAnswer()],
  ['a connection that broke after it', loseAnswer(connectionReset)],
  ['throttling', refuse(() => serviceError('ThrottlingException', 400))],
  ['a failure of the service', refuse(() => serviceError('InternalServerError', 500))],
]
const conflicts: [what: string, fault: Fault][] = [
  ...passing,
  ['a conflict', refuse(() => cancelled('None', 'TransactionConflict'))],
  ['throttling of an item', refuse(() => cancelled('ThrottlingError', 'None'))],
]

describe.each(conflicts)('%s of a transaction', (_what, fault) => {
  it('makes no second file, and none too few', async () => {
    const w = world(engines)
    using faults = injectFaults(engines.dynamodb, 'TransactWriteItems', [fault])
    const { id } = await w.files().create(newFile())
    expect(faults.left).toBe(0)
    expect(await listed(w.files())).toEqual([id])
    expect((await kept(engines, w.scope)).objects).toEqual([id])
  })

  it('completes an upload once', async () => {
    const w = world(engines)
    const { uploadId, request } = await w.files().startUpload({ ...newFile(), sizeBytes: 5 })
    await send(request, Buffer.from('hello'))
    using faults = injectFaults(engines.dynamodb, 'TransactWriteItems', [fault])
    const { file, isNew } = await w.files().completeUpload(uploadId)
    expect([isNew, faults.left]).toEqual([true, 0])
    expect(await listed(w.files())).toEqual([file.id])
  })

  it('deletes a file once', async () => {
    const w = world(engines)
    const { id } = await w.files().create(newFile())
    using faults = injectFaults(engines.dynamodb, 'TransactWriteItems', [fault])
    await w.files().delete(id)
    expect(faults.left).toBe(0)
    await expect(w.files().delete(id)).rejects.toThrow(NotFoundError)
    expect(await kept(engines, w.scope)).toEqual({ items: [], objects: [] })
  })
})

describe.each(passing)('%s', (_what, fault) => {
  it.each(['PutObject', 'GetObject', 'DeleteObject'])('of %s is tried again', async (command) => {
    const w = world(engines)
    using faults = injectFaults(engines.s3, command, [fault])
    const { id } = await w.files().create(newFile({ fromSandbox: true }))
    expect((await contentOf(w.files(), id)).toString()).toBe('hello')
    await w.files().delete(id)
    expect(faults.left).toBe(0)
    expect(await kept(engines, w.scope)).toEqual({ items: [], objects: [] })
  })

  it.each(['GetItem', 'Query'])('of %s is tried again', async (command) => {
    const w = world(engines)
    const { id } = await w.files().create(newFile())
    using faults = injectFaults(engines.dynamodb, command, [fault])
    expect(await w.files().get(id)).toMatchObject({ id })
    expect(await listed(w.files())).toEqual([id])
    expect(faults.left).toBe(0)
  })
})

it('a storage that stays out of reach is unavailable, and nothing is there', async () => {
  const w = world(engines)
  {
    const down = Array.from({ length: 8 }, () => refuse(() => serviceError('ServiceUnavailable', 503)))
    using _faults = injectFaults(engines.s3, 'PutObject', down)
    await expect(w.files().create(newFile())).rejects.toThrow(UnavailableError)
  }
  expect(await kept(engines, w.scope)).toEqual({ items: [], objects: [] })
})

it('bytes that could not be deleted go with the sweep, and the file at once', async () => {
  const w = world(engines)
  const { id } = await w.files().create(newFile())
  {
    using _faults = injectFaults(engines.s3, 'DeleteObject', [refuse(() => serviceError('AccessDenied', 403))])
    await w.files().delete(id)
  }
  expect(w.leftovers).toHaveLength(1)
  expect((await kept(engines, w.scope)).objects).toEqual([id])
  await w.sweep()
  expect((await kept(engines, w.scope)).objects).toEqual([id])
  w.clock.now += DAY + HOUR
  expect(await w.sweep()).toEqual({ cleared: 1, failures: [] })
  expect((await kept(engines, w.scope)).objects).toEqual([])
})

it('a file whose object is gone is deleted when it is asked for', async () => {
  const w = world(engines)
  const { id } = await w.files().create(newFile({ fromSandbox: true }))
  using _faults = injectFaults(engines.s3, 'GetObject', [
    refuse(() => new NoSuchKey({ message: 'gone', $metadata: {} })),
  ])
  await expect(w.files().open(id)).rejects.toThrow(NotFoundError)
  expect(await listed(w.files())).toEqual([])
})

describe('the sweep', () => {
  it('clears what has expired, and lets the rest be', async () => {
    const w = world(engines)
    const gone = await w.files().create(newFile({ expiresInSeconds: 3_600, scope: 'app' }))
    const stays = await w.files().create(newFile({ expiresInSeconds: 7_200 }))
    const forEver = await w.files('bob').create(newFile({ fromSandbox: true }))
    expect(await w.sweep()).toEqual({ cleared: 0, failures: [] })
    w.clock.now += HOUR
    expect(await w.sweep()).toEqual({ cleared: 1, failures: [] })
    const { items, objects } = await kept(engines, w.scope)
    expect(objects.sort()).toEqual([stays.id, forEver.id].sort())
    expect(items).toHaveLength(4)
    expect(items.filter((item) => item.includes(gone.id))).toEqual([])
  })

  it('clears an upload that was never completed, and no upload under way', async () => {
    const w = world(engines)
    const upload = async () => {
      const { uploadId, request } = await w.files().startUpload({ ...newFile(), sizeBytes: 5 })
      await send(request, Buffer.from('hello'))
      return uploadId
    }
    await upload()
    const uploadId = await upload()
    w.clock.now += 11 * HOUR
    await w.sweep()
    const { file } = await w.files().completeUpload(uploadId)
    w.clock.now += 14 * HOUR
    expect(await w.sweep()).toEqual({ cleared: 1, failures: [] })
    expect((await kept(engines, w.scope)).objects).toEqual([file.id])
    expect(await w.files().get(file.id)).toEqual(file)
  })

  it('of thousands of objects clears those without a file, and tells what it could not', async () => {
    const w = world(engines)
    const { tenant, project } = w.scope
    const files = [await w.files().create(newFile()), await w.files().create(newFile())].map(({ id }) => id)
    const put = (id: string) =>
      engines.s3.send(
        new PutObjectCommand({ Bucket: engines.bucketName, Key: `files/${tenant}/${project}/${id}`, Body: 'x' }),
      )
    for (let index = 0; index < 1_100; index += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, more) => put(`file_${index + more}${'z'.repeat((index + more) % 3)}`)),
      )
    }
    w.clock.now += 2 * DAY
    const output = { Errors: [{ Key: 'k', Code: 'AccessDenied', Message: 'no' }], $metadata: {} }
    const answer = { response: {}, output }
    const denied: Fault = async () => answer
    {
      using _faults = injectFaults(engines.s3, 'DeleteObjects', [denied])
      expect((await w.sweep()).failures).toMatchObject([{ reason: expect.stringContaining('AccessDenied') }])
    }
    expect(await w.sweep()).toEqual({ cleared: 1_100, failures: [] })
    expect((await kept(engines, w.scope)).objects.sort()).toEqual(files.sort())
    const [id = ''] = files
    const object = { Bucket: engines.bucketName, Key: `files/${tenant}/${project}/${id}` }
    expect((await engines.s3.send(new GetObjectCommand(object))).ContentLength).toBe(5)
  })

  it('counts each file that it clears, many at a time', async () => {
    const w = world(engines)
    for (let index = 0; index < 40; index++) await w.files().create(newFile({ expiresInSeconds: 3_600 }))
    w.clock.now += HOUR
    expect(await w.sweep()).toEqual({ cleared: 40, failures: [] })
    expect(await kept(engines, w.scope)).toEqual({ items: [], objects: [] })
  })

  it('does nothing when its time is up', async () => {
    const w = world(engines)
    await w.files().create(newFile({ expiresInSeconds: 3_600 }))
    w.clock.now += 2 * DAY
    expect(await w.sweep({ timeIsUp: () => true })).toEqual({ cleared: 0, failures: [] })
    expect(await w.sweep()).toEqual({ cleared: 1, failures: [] })
  })
})
