import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type LocalStack, type LocalStackOptions, startLocalStack } from '../support/local-stack.ts'

let dir: string
const running: LocalStack[] = []

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'sandkeep-local-'))
})

afterEach(async () => {
  for (const stack of running.splice(0)) await stack.stop()
  await rm(dir, { recursive: true, force: true })
})

async function start(options: LocalStackOptions = {}): Promise<LocalStack> {
  const stack = await startLocalStack(options)
  running.push(stack)
  return stack
}

async function stop(stack: LocalStack): Promise<void> {
  running.splice(running.indexOf(stack), 1)
  await stack.stop()
}

function call(stack: LocalStack, route: string, body: unknown, key = stack.apiKey): Promise<Response> {
  return fetch(`${stack.url}/sandbox/${route}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: {
      'content-type': 'application/json',
      'x-api-key': key,
      'x-sandbox-tenant-id': 'acme',
      'x-sandbox-project-id': 'demo',
    },
  })
}

const record = { key: 'box', provider: 'p', providerSandboxId: 's', threadId: 't', updatedAt: 1 }

test('the stack answers to its key, and its endpoints to its credentials', async () => {
  const stack = await start()
  expect(await (await call(stack, 'checkpoints/v1/head', { thread_id: 't' })).json()).toEqual({ head_id: null })
  expect((await call(stack, 'checkpoints/v1/head', { thread_id: 't' }, 'skp_wrong')).status).toBe(401)
  expect(
    (await call(stack, 'keys/v1', { name: 'n', role: 'viewer', bindings: [{ tenant: 'a', project: '*' }] })).status,
  ).toBe(201)

  const { region, credentials } = stack
  const dynamodb = new DynamoDBClient({ endpoint: stack.dynamodbEndpoint, region, credentials })
  const s3 = new S3Client({ endpoint: stack.s3Endpoint, region, credentials, forcePathStyle: true })
  const missing = { TableName: stack.tableName, Key: { pk: { S: 'none' }, sk: { S: 'none' } } }
  expect((await dynamodb.send(new GetItemCommand(missing))).Item).toBeUndefined()
  expect((await s3.send(new ListObjectsV2Command({ Bucket: stack.bucketName }))).KeyCount).toBe(0)
  dynamodb.destroy()
  s3.destroy()
})

test('two stacks in memory share nothing', async () => {
  const [first, second] = await Promise.all([start(), start()])
  expect((await call(first, 'checkpoints/v1/head', { thread_id: 't' }, second.apiKey)).status).toBe(401)
})

test('the clock and the lease times reach the functions', async () => {
  const now = Date.UTC(2030, 0, 1)
  const stack = await start({ now: () => now, leaseDurationMs: 9_000, renewAfterMs: 4_000 })
  const lease = await (await call(stack, 'checkpoints/v1/writers/acquire', { thread_id: 't' })).json()
  expect(lease).toMatchObject({ expires_at: now + 9_000, renew_after_ms: 4_000 })
})

test('a folder keeps the data and the key, which only its owner can read', async () => {
  const first = await start({ dir })
  expect((await call(first, 'instances/v1/upsert', { record })).status).toBe(204)
  await stop(first)
  expect((await stat(path.join(dir, 'local.json'))).mode & 0o777).toBe(0o600)
  const second = await start({ dir })
  expect(second.apiKey).toBe(first.apiKey)
  expect(second.credentials).toEqual(first.credentials)
  expect(await (await call(second, 'instances/v1/get', { key: 'box' })).json()).toEqual({ record })
})

test('a key that the table does not know any more is replaced', async () => {
  const first = await start({ dir })
  await stop(first)
  await rm(path.join(dir, 'dynamodb'), { recursive: true })
  const second = await start({ dir })
  expect(second.apiKey).not.toBe(first.apiKey)
  expect((await call(second, 'checkpoints/v1/head', { thread_id: 't' })).status).toBe(200)
  expect(await readFile(path.join(dir, 'local.json'), 'utf8')).toContain(second.apiKey)
})

test('a folder serves one stack at a time, and is free after it', async () => {
  const first = await start({ dir })
  await expect(startLocalStack({ dir })).rejects.toThrow(/^The folder .* is served by process \d+: .*--dir/)
  expect((await call(first, 'checkpoints/v1/head', { thread_id: 't' })).status).toBe(200)
  await stop(first)
  await start({ dir })
})

test('the lock of a process that is gone does not count', async () => {
  await writeFile(path.join(dir, 'server.pid'), '999999999')
  await start({ dir })
})

test('damaged settings are named, and nothing stays locked', async () => {
  await writeFile(path.join(dir, 'local.json'), '{"apiKey":')
  await expect(startLocalStack({ dir })).rejects.toThrow(`${path.join(dir, 'local.json')} is damaged.`)
  await rm(path.join(dir, 'local.json'))
  await start({ dir })
})

test('a port in use is refused, and nothing is left running', async () => {
  const first = await start()
  const port = Number(new URL(first.url).port)
  await expect(startLocalStack({ port, dir })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  await start({ dir })
})

test('stopping ends what listens, twice does no harm', async () => {
  const stack = await start()
  const ports = [stack.url, stack.dynamodbEndpoint, stack.s3Endpoint].map((url) => Number(new URL(url).port))
  await stop(stack)
  await stack.stop()
  for (const port of ports) {
    const refused = await new Promise((resolve) => {
      net
        .connect(port, '127.0.0.1')
        .once('error', resolve)
        .once('connect', () => resolve('connected'))
    })
    expect(refused).toMatchObject({ code: 'ECONNREFUSED' })
  }
})
