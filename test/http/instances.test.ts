import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApi, type TestApi } from './support/api.ts'

let api: TestApi
let apiKey: string
beforeAll(async () => {
  api = await startTestApi()
  apiKey = await api.createKey('writer')
})
afterAll(() => api.stop())

async function post(route: string, body: object, tenant = 'acme') {
  const response = await api.fetch(`${api.url}/sandbox/instances/v1${route}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': apiKey,
      'x-sandbox-tenant-id': tenant,
      'x-sandbox-project-id': 'web',
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

const record = { key: 'k', provider: 'p', providerSandboxId: 's', threadId: 't', updatedAt: 1.5 }

it('keeps, replaces and deletes the record of a key', async () => {
  expect(await post('/get', { key: 'k' })).toStrictEqual({ status: 200, body: { record: null } })
  const full = { ...record, latestSnapshotId: 'snap', latestRunId: 'run' }
  expect(await post('/upsert', { record: full })).toStrictEqual({ status: 204, body: undefined })
  expect(await post('/get', { key: 'k' })).toStrictEqual({ status: 200, body: { record: full } })
  await post('/upsert', { record })
  expect(await post('/get', { key: 'k' })).toStrictEqual({ status: 200, body: { record } })
  expect(await post('/get', { key: 'k' }, 'other')).toStrictEqual({ status: 200, body: { record: null } })
  expect(await post('/delete', { key: 'k' })).toStrictEqual({ status: 204, body: undefined })
  expect(await post('/delete', { key: 'k' })).toStrictEqual({ status: 204, body: undefined })
  expect(await post('/get', { key: 'k' })).toStrictEqual({ status: 200, body: { record: null } })
})

describe('refuses', () => {
  it.each([
    [{}, 'record'],
    [{ record: null }, 'record'],
    [{ record: { ...record, key: '' } }, 'record.key'],
    [{ record: { ...record, provider: 1 } }, 'record.provider'],
    [{ record: { ...record, updatedAt: '1' } }, 'record.updatedAt'],
    [{ record: { ...record, updatedAt: null } }, 'record.updatedAt'],
    [{ record: { ...record, latestRunId: null } }, 'record.latestRunId'],
    [{ record: { ...record, threadId: undefined } }, 'record.threadId'],
    [{ record, extra: 1 }, 'extra'],
  ])('%j, naming %s', async (body, field) => {
    expect(await post('/upsert', body)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_input', field } },
    })
  })

  it('a record that no item holds', async () => {
    const answer = await post('/upsert', { record: { ...record, provider: 'x'.repeat(400_000) } })
    expect(answer).toMatchObject({ status: 413, body: { error: { code: 'payload_too_large', field: 'record' } } })
  })

  it('an empty key', async () => {
    expect(await post('/get', { key: '' })).toMatchObject({ status: 400, body: { error: { field: 'key' } } })
  })
})

it('keeps what a record holds beside its known fields', async () => {
  await post('/upsert', { record: { ...record, extra: { nested: [1] } } })
  expect((await post('/get', { key: record.key })).body).toEqual({ record: { ...record, extra: { nested: [1] } } })
})
