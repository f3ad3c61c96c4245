import { once } from 'node:events'
import { connect } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createFileRegistry } from '../../src/files/registry.ts'
import { APP_OWNER } from '../../src/files/types.ts'
import { refuse, startUpstream, UPSTREAM_KEY, type Upstream, type UpstreamFault } from '../files/support/anthropic.ts'
import { send } from '../store/support/send.ts'
import { type LocalStack, startLocalStack } from '../support/local-stack.ts'
import { dispositionName, FILES, type FileCall, field, fileCaller, filePart, rawForm } from './support/files.ts'

const SCOPE = { tenant: 'acme', project: 'web' }

let upstream: Upstream
let stack: LocalStack
let dynamodb: DynamoDBClient
let call: FileCall
beforeAll(async () => {
  upstream = await startUpstream()
  const { baseUrl } = upstream.connection
  stack = await startLocalStack({ filesBackend: 'anthropic', anthropic: { baseUrl, apiKey: UPSTREAM_KEY } })
  const { region, credentials, dynamodbEndpoint: endpoint } = stack
  dynamodb = new DynamoDBClient({ endpoint, region, credentials: { ...credentials } })
  call = fileCaller(stack, SCOPE, { 'x-api-key': stack.apiKey })
})
afterAll(async () => {
  dynamodb.destroy()
  await stack.stop()
  await upstream.stop()
})
beforeEach(() => {
  upstream.faults.length = 0
  upstream.requests.length = 0
})

async function output(filename: string, bytes: Uint8Array): Promise<string> {
  const id = upstream.output(filename, bytes)
  const { tableName } = stack
  await createFileRegistry({ dynamodb, tableName, scope: SCOPE, user: APP_OWNER }).register(id, 'user')
  return id
}

it('an upload goes on to Anthropic, by a form and by the storage', async () => {
  const made = await call('POST', '', { form: rawForm(filePart('a?.csv', 'x,y', 'text/csv'), field('scope', 'app')) })
  expect(made).toMatchObject({ status: 201, json: { filename: 'a?.csv', mime_type: 'text/csv', downloadable: false } })
  expect(upstream.files.get(made.json.id)).toMatchObject({ filename: 'a_.csv', mime_type: 'text/csv' })
  const content = Buffer.alloc(33_554_432, 5)
  const json = { filename: 'b.bin', mime_type: 'a/b', size_bytes: content.length }
  const upload = await call('POST', '/uploads', { json })
  await send({ ...upload.json, expiresAt: 0 }, content)
  const large = await call('POST', `/uploads/${upload.json.upload_id}/complete`)
  expect(large).toMatchObject({ status: 201, json: { size_bytes: content.length } })
  expect(upstream.files.get(large.json.id)?.bytes.equals(content)).toBe(true)
  expect(await call('POST', `/uploads/${upload.json.upload_id}/complete`)).toMatchObject({
    status: 200,
    json: large.json,
  })
})

describe('a download', () => {
  it('is streamed through, with our own type and name', async () => {
    const id = await output('\u58f2\u4e0a.csv', Buffer.alloc(10_000_000, 'z'))
    const { status, headers, bytes } = await call('GET', `/${id}/content`)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/csv')
    expect(dispositionName(headers.get('content-disposition'))).toBe('\u58f2\u4e0a.csv')
    expect(bytes.equals(Buffer.alloc(10_000_000, 'z'))).toBe(true)
  })

  it('passes the first bytes on before the last have come', async () => {
    const id = await output('a.csv', Buffer.from('unused'))
    await call('GET', `/${id}`)
    const rest = Promise.withResolvers<void>()
    upstream.faults.push(async (_handle, response) => {
      response.writeHead(200).write('first')
      await rest.promise
      response.end('last')
    })
    const headers = { 'x-api-key': stack.apiKey, 'x-sandbox-tenant-id': 'acme', 'x-sandbox-project-id': 'web' }
    const response = await fetch(`${stack.url}${FILES}/${id}/content`, { headers })
    const reader = response.body?.getReader()
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('first')
    rest.resolve()
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('last')
    expect((await reader?.read())?.done).toBe(true)
  })

  it('that breaks off there breaks off here', async () => {
    const id = await output('a.csv', Buffer.from('unused'))
    upstream.faults.push(
      (handle) => handle(),
      async (_handle, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('half')
        setImmediate(() => response.destroy())
      },
    )
    await expect(call('GET', `/${id}/content`)).rejects.toThrow()
  })

  it('that nobody waits for ends there too', async () => {
    const id = await output('a.csv', Buffer.from('unused'))
    await call('GET', `/${id}`)
    const closed = Promise.withResolvers<void>()
    upstream.faults.push((_handle, response) => {
      response.once('close', closed.resolve)
      response.writeHead(200).write('first')
    })
    const { port } = new URL(stack.url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(
      `GET ${FILES}/${id}/content HTTP/1.1\r\nhost: x\r\nx-api-key: ${stack.apiKey}\r\n` +
        'x-sandbox-tenant-id: acme\r\nx-sandbox-project-id: web\r\n\r\n',
    )
    await once(socket, 'data')
    socket.destroy()
    await closed.promise
  })
})

describe('an error of Anthropic', () => {
  const cases: [what: string, fault: UpstreamFault, status: number, code: string, retryAfter: string | null][] = [
    [
      '429',
      (_h, r) => refuse(r, 429, 'rate_limit_error', 'x', undefined, { 'retry-after': '23' }),
      429,
      'too_many_requests',
      '23',
    ],
    [
      '529',
      (_h, r) => refuse(r, 529, 'overloaded_error', 'x', undefined, { 'retry-after': '2' }),
      503,
      'upstream_busy',
      '2',
    ],
    ['401', (_h, r) => refuse(r, 401, 'authentication_error', UPSTREAM_KEY), 502, 'upstream_failed', null],
    ['403', (_h, r) => refuse(r, 403, 'permission_error', 'workspace wrkspc_1'), 502, 'upstream_failed', null],
    ['500', (_h, r) => refuse(r, 500, 'api_error', 'file_011Cother'), 502, 'upstream_failed', null],
    ['413', (_h, r) => void r.writeHead(413).end('<html>nginx</html>'), 413, 'payload_too_large', null],
    ['nothing', (_h, r) => void r.destroy(), 502, 'upstream_failed', null],
  ]
  it.each(cases)('%s tells nothing of it', async (_what, fault, status, code, retryAfter) => {
    upstream.faults.push(fault)
    const answer = await call('POST', '', { form: rawForm(filePart()) })
    expect(answer).toMatchObject({ status, json: { error: { code } } })
    expect(answer.headers.get('retry-after')).toBe(retryAfter)
    const all = JSON.stringify([...answer.headers]) + answer.text
    const { host } = new URL(upstream.connection.baseUrl)
    for (const secret of [UPSTREAM_KEY, host, 'file_011Cother', 'wrkspc_1', 'req_upstream', 'nginx']) {
      expect(all).not.toContain(secret)
    }
  })

  it('before a download is answered as such', async () => {
    const id = await output('a.csv', Buffer.from('x'))
    await call('GET', `/${id}`)
    upstream.faults.push((_h, r) => refuse(r, 429, 'rate_limit_error', 'x', undefined, { 'retry-after': '5' }))
    const answer = await call('GET', `/${id}/content`)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '5'])
    upstream.files.delete(id)
    const gone = await call('GET', `/${id}/content`)
    expect([gone.status, gone.text]).toEqual([404, (await call('GET', '/file_0/content')).text])
    expect((await call('GET', `/${id}`)).status).toBe(404)
  })
})

it('Anthropic\u2019s own client reads files here', async () => {
  const id = await output('sdk.csv', Buffer.from('1,2'))
  const client = new Anthropic({
    apiKey: stack.apiKey,
    baseURL: stack.url,
    defaultHeaders: { 'x-sandbox-tenant-id': 'acme', 'x-sandbox-project-id': 'web' },
    fetch: (input, init) => fetch(String(input).replace('/v1/files', FILES), init),
    maxRetries: 0,
  })
  expect(await client.files.retrieveMetadata(id)).toMatchObject({ id, filename: 'sdk.csv', size_bytes: 3 })
  const listed = []
  for await (const file of client.files.list({ limit: 2 })) listed.push(file.id)
  expect(listed).toContain(id)
  expect(await (await client.files.download(id)).text()).toBe('1,2')
  const uploaded = await client.files.upload({ file: new File(['up'], 'up.txt', { type: 'text/plain' }) })
  expect(uploaded).toMatchObject({ filename: 'up.txt', mime_type: 'text/plain', downloadable: false })
  await expect(client.files.retrieveMetadata('file_0')).rejects.toMatchObject({ status: 404 })
})

it('the sweep of the stack finds what an upload left there', async () => {
  const sweeper = fileCaller({ url: stack.url }, SCOPE, { 'x-api-key': stack.apiKey })
  const { json } = await sweeper('POST', '', { form: rawForm(filePart(), field('expires_in_seconds', '3600')) })
  vi.setSystemTime(Date.now() + 3_600_001)
  try {
    const headers = { 'x-api-key': stack.apiKey, 'x-sandbox-tenant-id': 'acme', 'x-sandbox-project-id': 'web' }
    const started = await fetch(`${stack.url}/sandbox/checkpoints/v1/sweeps`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{}',
    })
    expect(started.status).toBeLessThan(300)
    await vi.waitFor(() => expect(upstream.files.has(json.id)).toBe(false), { timeout: 20_000 })
  } finally {
    vi.useRealTimers()
  }
})
