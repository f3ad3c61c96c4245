import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SandkeepHttpError } from '../../client/index.ts'
import type { SandboxCheckpointAppendInput, SandboxCheckpointWriter } from '../../src/checkpoints/types.ts'
import { startTestApi, type TestApi } from '../http/support/api.ts'
import { checkpoint } from '../http/support/checkpoint.ts'
import { answer, refusal, scripted } from './support.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.stop())

const writer = { threadId: 't', ownerToken: 'o', fence: 1 }

describe('large bodies', () => {
  it('travel through the storage in both directions, unasked', async () => {
    const { checkpoints } = api.client()
    const document = checkpoint('a', 't', { conversation: ['x'.repeat(20_000_000), '€\ud800'] })
    const lease = await checkpoints.acquireWriter('t')
    api.requests.length = 0
    await checkpoints.append({ checkpoint: document, expectedHeadId: null, writer: lease })
    expect(api.requests).toStrictEqual(['POST /sandbox/checkpoints/v1/uploads', 'POST /sandbox/checkpoints/v1/append'])
    expect(await checkpoints.get('a')).toStrictEqual(document)
    expect(await checkpoints.list('t')).toStrictEqual([document])
  })

  it('are no way around the order of errors', async () => {
    const { checkpoints } = api.client()
    const document = checkpoint('a', 't', { conversation: ['x'.repeat(5_000_000)] })
    const append = checkpoints.append({ checkpoint: document, expectedHeadId: null, writer })
    await expect(append).rejects.toMatchObject({ code: 'SANDBOX_SNAPSHOT_WRITER_LOST' })
  })

  it('go directly when they are small', async () => {
    const { checkpoints } = api.client()
    const lease = await checkpoints.acquireWriter('t')
    api.requests.length = 0
    await checkpoints.append({ checkpoint: checkpoint('a', 't'), expectedHeadId: null, writer: lease })
    expect(api.requests).toStrictEqual(['POST /sandbox/checkpoints/v1/append'])
  })

  it('of services that do not take them are refused here', async () => {
    const { client, sent } = scripted([])
    const record = { key: 'k', provider: 'x'.repeat(4_200_000), providerSandboxId: '', threadId: '', updatedAt: 1 }
    await expect(client.instances.upsert(record)).rejects.toMatchObject({ code: 'payload_too_large' })
    expect(sent).toHaveLength(0)
  })

  it('over the limit of uploads are refused here', async () => {
    const { client, sent } = scripted([])
    const part = 'x'.repeat(100_000_000)
    const document = checkpoint('a', 't', { conversation: [part, part, part] })
    const append = client.checkpoints.append({ checkpoint: document, expectedHeadId: null, writer })
    await expect(append).rejects.toMatchObject({ code: 'payload_too_large' })
    expect(sent).toHaveLength(0)
  })
})

describe('what JSON cannot carry', () => {
  it.each([
    ['a bigint', { conversation: [1n] }],
    ['a function', { conversation: [() => 1] }],
    ['a hole', { conversation: [undefined] }],
    ['a date', { conversation: [new Date(0)] }],
    ['a map', { more: new Map() }],
    ['a number that is not finite', { conversation: [Number.NaN] }],
    ['a time that is not finite', { createdAt: Number.POSITIVE_INFINITY }],
  ])('is refused before anything is sent: %s', async (_what, change) => {
    const { client, sent } = scripted([])
    const document = { ...checkpoint('a', 't'), ...change } as SandboxCheckpointAppendInput['checkpoint']
    const append = client.checkpoints.append({ checkpoint: document, expectedHeadId: null, writer })
    await expect(append).rejects.toMatchObject({ code: 'SANDBOX_SNAPSHOT_INVALID_ENTRY' })
    expect(sent).toHaveLength(0)
  })

  it.each([undefined, null, 5, 5n, Number.NaN, {}, [], () => 1, Symbol('id'), new Date(0), '', '\udfff'])(
    'is no id: %s',
    async (value) => {
      const { checkpoints } = api.client()
      const id = value as string
      const invalid = { code: 'SANDBOX_SNAPSHOT_INVALID_ID' }
      await expect(checkpoints.get(id)).rejects.toMatchObject(invalid)
      await expect(checkpoints.list(id)).rejects.toMatchObject(invalid)
      await expect(checkpoints.getHead(id)).rejects.toMatchObject(invalid)
      await expect(checkpoints.acquireWriter(id)).rejects.toMatchObject(invalid)
      await expect(checkpoints.deleteHead({ threadId: 't', checkpointId: id, writer })).rejects.toMatchObject(invalid)
      if (value === null) return
      const append = { checkpoint: checkpoint('a', 't'), expectedHeadId: id, writer }
      await expect(checkpoints.append(append)).rejects.toMatchObject(invalid)
    },
  )

  it.each([undefined, null, 1n, Number.NaN, '1', {}, () => 1])('is no fence: %s', async (fence) => {
    const { checkpoints } = api.client()
    const lease = await checkpoints.acquireWriter('t')
    const held = { threadId: 't', ownerToken: lease.ownerToken, fence } as SandboxCheckpointWriter
    const append = checkpoints.append({ checkpoint: checkpoint('a', 't'), expectedHeadId: null, writer: held })
    await expect(append).rejects.toMatchObject({ code: 'SANDBOX_SNAPSHOT_WRITER_LOST' })
  })
})

it('sends what the document was when append was called', async () => {
  const { checkpoints } = api.client()
  const lease = await checkpoints.acquireWriter('t')
  const document = checkpoint('a', 't', { label: 'before' })
  const append = checkpoints.append({ checkpoint: document, expectedHeadId: null, writer: lease })
  document.label = 'after'
  await append
  expect(await checkpoints.get('a')).toMatchObject({ label: 'before' })
})

describe('a list', () => {
  const expired = () => refusal(409, 'page_expired')
  const page = (ids: string[], next_page: string | null) =>
    answer({ checkpoints: ids.map((id) => checkpoint(id, 't')), next_page })
  const ids = (list: Array<{ id: string }>) => list.map(({ id }) => id)

  it('gathers all pages, in the order of the contract', async () => {
    const { client, sent } = scripted([page(['é', 'b'], 'p1'), page(['\u{1f600}', 'a'], 'p2'), page(['\uffff'], null)])
    expect(ids(await client.checkpoints.list('t'))).toStrictEqual(['a', 'b', 'é', '\uffff', '\u{1f600}'])
    expect(sent.map(({ body }) => JSON.parse(body))).toStrictEqual([
      { thread_id: 't' },
      { thread_id: 't', page: 'p1' },
      { thread_id: 't', page: 'p2' },
    ])
  })

  it('begins again when the thread changed, without what it had gathered', async () => {
    const { client } = scripted([page(['old'], 'p1'), expired(), page(['a'], 'p1'), page(['b'], null)])
    expect(ids(await client.checkpoints.list('t'))).toStrictEqual(['a', 'b'])
  })

  it('gives up when the thread changes all the time', async () => {
    const { client, sent } = scripted(Array.from({ length: 6 }, () => [page(['a'], 'p1'), expired()]).flat())
    await expect(client.checkpoints.list('t')).rejects.toThrow(SandkeepHttpError)
    expect(sent).toHaveLength(12)
  })
})

it('gives a lease that shows its end and the head', async () => {
  let now = 1_000
  const { client } = api.withOptions({ now: () => now, leaseDurationMs: 100, renewAfterMs: 10 })
  const { checkpoints } = client()
  const lease = await checkpoints.acquireWriter('t')
  expect(lease).toMatchObject({ threadId: 't', fence: 1, headId: null, expiresAt: 1_100, renewAfterMs: 10 })
  now = 1_050
  expect(await lease.renew()).toStrictEqual({ expiresAt: 1_150 })
  expect(lease.expiresAt).toBe(1_150)
  await checkpoints.append({ checkpoint: checkpoint('a', 't'), expectedHeadId: null, writer: lease })
  await lease.release()
  await lease.release()
  await expect(lease.renew()).rejects.toMatchObject({ code: 'SANDBOX_SNAPSHOT_WRITER_LOST' })
  expect(await checkpoints.acquireWriter('t')).toMatchObject({ fence: 2, headId: 'a' })
})
