import { createHash, randomUUID } from 'node:crypto'
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { mockClient } from 'aws-sdk-client-mock'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createServiceHandler } from '../../lambdas/checkpoints/handler.ts'
import { BASE } from '../../lambdas/checkpoints/routes.ts'
import { stagingObjectKey } from '../../src/blobs/object-keys.ts'
import { createBlobStore } from '../../src/blobs/store.ts'
import { createCheckpointStore } from '../../src/checkpoints/store.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { startTestApi, type TestApi } from './support/api.ts'
import { checkpoint } from './support/checkpoint.ts'
import { call, errorOf, lambdaContext, proxyEvent } from './support/events.ts'

let api: TestApi
let apiKey: string
let scope: Scope
beforeAll(async () => {
  api = await startTestApi()
  apiKey = await api.createKey('writer')
})
afterAll(() => api.stop())
beforeEach(() => {
  scope = api.engines.freshScope()
})

async function post(route: string, body: object, in_: Scope = scope) {
  const response = await api.fetch(api.url + BASE + route, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': apiKey,
      'x-sandbox-tenant-id': in_.tenant,
      'x-sandbox-project-id': in_.project,
    },
    body: JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
}

async function stage(text: string): Promise<string> {
  const bytes = Buffer.from(text)
  const { status, body } = await post('/uploads', {
    size_bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  })
  expect(status).toBe(201)
  const { 'content-length': _length, ...headers } = body.headers
  expect((await fetch(body.url, { method: body.method, headers, body: bytes })).status).toBe(200)
  return body.upload_id
}

const unknownUpload = { status: 400, body: { error: { code: 'invalid_input', field: 'upload_id' } } }

it('a body that was uploaded before stands for the body of any route', async () => {
  const upload_id = await stage('{"thread_id":"t"}')
  expect(await post('/head', { upload_id })).toMatchObject({ status: 200, body: { head_id: null } })
  expect(await post('/list', { upload_id })).toMatchObject({ status: 200, body: { checkpoints: [] } })
})

it('an upload tells all that it needs, and once', async () => {
  const { status, body } = await post('/uploads', { size_bytes: 5, sha256: 'a'.repeat(64) })
  expect(status).toBe(201)
  expect(body).toStrictEqual({
    upload_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    method: 'PUT',
    url: expect.stringContaining(body.upload_id),
    headers: {
      'content-length': '5',
      'content-type': 'application/json',
      'if-none-match': '*',
      'x-amz-checksum-sha256': Buffer.from('a'.repeat(64), 'hex').toString('base64'),
    },
    expires_at: expect.any(String),
  })
})

it('an uploaded body is held to the same rules', async () => {
  expect(await post('/head', { upload_id: await stage('{"thread_id":') })).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_input', field: 'body' } },
  })
  expect(await post('/head', { upload_id: await stage('{"thread_id":"t","more":1}') })).toMatchObject({
    status: 400,
    body: { error: { field: 'more' } },
  })
  const nested = JSON.stringify({ upload_id: await stage('{"thread_id":"t"}') })
  expect(await post('/head', { upload_id: await stage(nested) })).toMatchObject({
    status: 400,
    body: { error: { field: 'upload_id' } },
  })
})

it.each([
  ['1024', `{"thread_id":${'['.repeat(1_024)}${']'.repeat(1_024)}}`],
  ['2000000', `{"thread_id":[${'[],'.repeat(3_000_000)}[]]}`],
])('an uploaded body with more in it than may be parsed is refused, naming the limit: %s', async (limit, text) => {
  expect(await post('/head', { upload_id: await stage(text) })).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_input', field: 'body', message: expect.stringContaining(limit) } },
  })
})

it('an uploaded body that is not UTF-8 is refused', async () => {
  const upload_id = randomUUID()
  const { s3, bucketName } = api.engines
  const Body = Buffer.from([0x22, 0xff, 0x22])
  await s3.send(new PutObjectCommand({ Bucket: bucketName, Key: stagingObjectKey(scope, upload_id), Body }))
  expect(await post('/head', { upload_id })).toMatchObject({ status: 400, body: { error: { field: 'body' } } })
})

it.each([
  ['never was', randomUUID()],
  ['is no id', 'x'],
  ['is a path', '../../other/project/id'],
  ['is a number', 5],
  ['is null', null],
])('an upload that %s is refused', async (_what, upload_id) => {
  expect(await post('/head', { upload_id })).toMatchObject(unknownUpload)
})

it('an upload of another scope is answered as one that never was', async () => {
  const upload_id = await stage('{"thread_id":"t"}')
  const foreign = await post('/head', { upload_id }, api.engines.freshScope())
  const never = await post('/head', { upload_id: randomUUID() })
  expect(foreign).toMatchObject(unknownUpload)
  expect(foreign.body).toStrictEqual(never.body)
})

it('an upload beside other fields is an unknown field', async () => {
  const upload_id = await stage('{"thread_id":"t"}')
  expect(await post('/head', { upload_id, thread_id: 't' })).toMatchObject(unknownUpload)
})

it('an answer over the inline limit is a redirect to its JSON', async () => {
  const taken = await post('/writers/acquire', { thread_id: 't' })
  const { thread_id, owner_token, fence } = taken.body
  // Three bytes a character: the text is longer in bytes than in characters.
  const document = checkpoint('a', 't', { conversation: ['€'.repeat(1_500_000)] })
  const writer = { thread_id, owner_token, fence }
  const upload_id = await stage(JSON.stringify({ checkpoint: document, expected_head_id: null, writer }))
  expect(await post('/append', { upload_id })).toMatchObject({ status: 200, body: { head_id: 'a' } })

  const answer = await post('/get', { id: 'a' })
  expect(answer.status).toBe(303)
  expect(answer.headers.get('location')).toBe(answer.body.location)
  const followed = await fetch(answer.body.location)
  expect(followed.headers.get('content-type')).toBe('application/json')
  const text = await followed.text()
  expect(Buffer.byteLength(text)).toBe(answer.body.size_bytes)
  expect(JSON.parse(text)).toStrictEqual({ checkpoint: document })
})

it('an answer just under the limit comes by itself', async () => {
  const { thread_id, owner_token, fence } = (await post('/writers/acquire', { thread_id: 't' })).body
  const document = checkpoint('a', 't', { conversation: ['x'.repeat(4_190_000)] })
  await post('/append', { checkpoint: document, expected_head_id: null, writer: { thread_id, owner_token, fence } })
  expect((await post('/get', { id: 'a' })).status).toBe(200)
})

it('an upload that is larger than what may be uploaded is not read', async () => {
  const s3 = new S3Client({ region: 'us-east-1' })
  mockClient(s3).on(GetObjectCommand).resolves({ ContentLength: 67_108_865 })
  const config = { s3, bucketName: 'bucket' }
  const unasked = () => {
    throw new Error('No store is asked.')
  }
  const handler = createServiceHandler(config, { checkpoints: unasked, blobs: unasked, sweeps: unasked })
  const answer = await call(handler, { path: `${BASE}/head`, body: { upload_id: randomUUID() } })
  expect(answer.status).toBe(413)
  expect(errorOf(answer)).toMatchObject({ code: 'payload_too_large', field: 'upload_id' })
})

it('a text that grows in the JSON around an answer is answered all the same', async () => {
  const { thread_id, owner_token, fence } = (await post('/writers/acquire', { thread_id: 't' })).body
  // Each quote becomes two characters in the document, and four in what the function gives.
  const document = checkpoint('a', 't', { conversation: ['"'.repeat(1_900_000)] })
  await post('/append', { checkpoint: document, expected_head_id: null, writer: { thread_id, owner_token, fence } })
  const handler = createServiceHandler(
    { ...api.engines },
    {
      checkpoints: () => createCheckpointStore({ ...api.engines, scope }),
      blobs: () => createBlobStore({ ...api.engines, scope }),
      sweeps: () => {
        throw new Error('No sweep is asked for.')
      },
    },
  )
  const answer = await handler(proxyEvent({ path: `${BASE}/get`, body: { id: 'a' } }), lambdaContext)
  expect(answer.statusCode).toBe(200)
  expect(JSON.stringify(answer).length).toBeLessThan(6_291_556)
  expect(JSON.parse(Buffer.from(answer.body, 'base64').toString())).toStrictEqual({ checkpoint: document })
})

it('an error that names what a caller chose stays small', async () => {
  const { status, body } = await post('/get', { ['x'.repeat(3_000_000)]: 1 })
  expect(status).toBe(400)
  expect(body.error.code).toBe('invalid_input')
  expect(JSON.stringify(body).length).toBeLessThan(2_000)
})
