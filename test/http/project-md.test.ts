import { BatchWriteCommand, DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import * as logging from '../../lambdas/shared/log.ts'
import { createMemoryStore } from '../../src/memory/store.ts'
import { excerptKey, taskKey } from '../../src/table/keys.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { injectFaults, refuse } from '../store/support/faults.ts'
import { startTestApi, type TestApi } from './support/api.ts'

let api: TestApi

beforeAll(async () => {
  vi.spyOn(logging, 'log').mockReturnValue(undefined)
  api = await startTestApi()
})

afterAll(() => api.stop())

const PATH = '/sandbox/memory/v1/project.md'

async function get(scope: Scope, query = ''): Promise<Response> {
  const headers = {
    'x-api-key': await api.createKey('viewer'),
    'X-Sandbox-Tenant-Id': scope.tenant,
    'X-Sandbox-Project-Id': scope.project,
  }
  return api.fetch(`${api.url}${PATH}${query}`, { headers })
}

const time = Date.UTC(2026, 10, 30, 12)

async function put(scope: Scope, taskId: string, turn: number, summary: string, now: number): Promise<void> {
  const store = createMemoryStore({ ...api.engines, scope, now: () => now })
  await store.putTurn({ taskId, turn, meta: '{}', summary, by: 'user:me' })
}

test('the document has the tasks of the project, that with the newest update first', async () => {
  const scope = api.engines.freshScope()
  const soon = Date.now() + 1_000
  await put(scope, 'older', 3, 'Done: `ä€😀`.', soon)
  await put(scope, 'newer', 0, '', soon + 1_500)
  const response = await get(scope)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('x-request-id')).toBe('request-1')
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  expect(await response.text()).toBe(
    [
      '# Project memory\n',
      `## newer\n\n- Latest turn: 0\n- Turns: 1\n- Updated: ${new Date(soon + 1_500).toISOString()}\n`,
      `## older\n\n- Latest turn: 3\n- Turns: 1\n- Updated: ${new Date(soon).toISOString()}\n\nDone: \`ä€😀\`.\n`,
    ].join('\n'),
  )
})

test('a project without tasks has a document without sections', async () => {
  expect(await (await get(api.engines.freshScope())).text()).toBe('# Project memory\n')
})

test('another project sees nothing of it', async () => {
  const scope = api.engines.freshScope()
  await put(scope, 't', 1, 'secret', time)
  expect(await (await get({ ...scope, project: 'other' })).text()).not.toContain('secret')
})

test('a query parameter is refused, as is a caller without a key or a tenant', async () => {
  const scope = api.engines.freshScope()
  const unknown = await get(scope, '?limit=5')
  expect(unknown.status).toBe(400)
  expect(await unknown.json()).toMatchObject({ error: { code: 'invalid_input', field: 'limit' } })
  const nobody = await api.fetch(api.url + PATH)
  expect(nobody.status).toBe(401)
  const nowhere = await api.fetch(api.url + PATH, { headers: { 'x-api-key': await api.createKey('viewer') } })
  expect(nowhere.status).toBe(400)
  expect(await nowhere.json()).toMatchObject({ error: { field: 'X-Sandbox-Tenant-Id' } })
})

test('storage that fails before the document begins is an error answer', async () => {
  const busy = () => Object.assign(new Error('busy'), { name: 'ThrottlingException' })
  using _faults = injectFaults(
    api.engines.dynamodb,
    'Query',
    Array.from({ length: 100 }, () => refuse(busy)),
  )
  const response = await get(api.engines.freshScope())
  expect(response.status).toBe(503)
  expect(await response.json()).toMatchObject({ error: { code: 'unavailable' } })
})

test('storage that fails in the middle of the document breaks it off', async () => {
  const scope = api.engines.freshScope()
  await put(scope, 't', 1, 'Summary.', Date.now())
  // After the catalog.
  using _faults = injectFaults(api.engines.dynamodb, 'Query', [(send) => send(), refuse(() => new Error('gone'))])
  const response = await get(scope)
  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow()
})

test('a document larger than a function may answer with is streamed', async () => {
  const scope = api.engines.freshScope()
  const tasks = 3_100
  await put(scope, 'task-0', 1, 'x'.repeat(2_000), Date.now())
  await copyTask(scope, tasks)
  const response = await get(scope)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const first = await reader.read()
  expect(Buffer.from(first.value ?? []).toString()).toMatch(/^# Project memory\n/)
  let size = first.value?.length ?? 0
  let sections = 0
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    size += piece.value.length
    sections += Buffer.from(piece.value).toString('latin1').split('\n## ').length - 1
  }
  expect(size).toBeGreaterThan(6_291_556)
  expect(sections).toBeGreaterThan(tasks - 50)
})

/** Makes copies of the task `task-0`, until there are so many tasks. */
async function copyTask(scope: Scope, tasks: number): Promise<void> {
  const { tableName, dynamodb } = api.engines
  const client = DynamoDBDocumentClient.from(dynamodb)
  const keysOf = (taskId: string) => [taskKey(scope, taskId), excerptKey(scope, taskId)]
  const originals = await Promise.all(
    keysOf('task-0').map(async (Key) => {
      const { Item } = await client.send(new GetCommand({ TableName: tableName, Key, ConsistentRead: true }))
      if (!Item) throw new Error('The task to copy is not there.')
      return Item
    }),
  )
  const copies = Array.from({ length: tasks - 1 }, (_, index) =>
    keysOf(`task-${index + 1}`).map((key, item) => ({ ...originals[item], ...key })),
  ).flat()
  for (let start = 0; start < copies.length; start += 25) {
    const requests = copies.slice(start, start + 25).map((Item) => ({ PutRequest: { Item } }))
    await client.send(new BatchWriteCommand({ RequestItems: { [tableName]: requests } }))
  }
}
