import { once } from 'node:events'
import http from 'node:http'
import { expect, test, vi } from 'vitest'
import { FunctionStream } from '../../local/gateway/function-stream.ts'
import type { LambdaStreamHandler } from '../../local/gateway/index.ts'
import { invokeStream } from '../../local/gateway/invoke-stream.ts'
import { readApi } from '../../local/gateway/read-api.ts'
import { eventOf, post, refusalOf } from './harness.ts'
import { begin, STREAM_PATH, streamGateway, streamTemplate } from './stream-harness.ts'

const MB = 1_048_576

test('the pieces of an answer come as the function writes them', async () => {
  const read = Promise.withResolvers<void>()
  const url = await streamGateway(async (_event, stream) => {
    begin(stream, { statusCode: 201, headers: { 'content-type': 'text/event-stream', Date: 'never' } })
    stream.write('first ')
    await read.promise
    stream.end('last')
  })
  const response = await post(url + STREAM_PATH)
  expect(response.status).toBe(201)
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(response.headers.get('x-amzn-remapped-date')).toBe('never')
  expect(response.headers.get('x-amzn-requestid')).toMatch(/^[0-9a-f-]{36}$/)
  const reader = response.body?.getReader()
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('first ')
  read.resolve()
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('last')
  expect((await reader?.read())?.done).toBe(true)
})

test('a streaming function gets the event that any function gets', async () => {
  const url = await streamGateway(async (event, stream, context) => {
    begin(stream)
    stream.end(JSON.stringify({ ...event, left: context.getRemainingTimeInMillis() }))
  })
  const event = await eventOf(await post(`${url}${STREAM_PATH}?a=1&a=2`, 'hi'))
  expect(event).toMatchObject({
    resource: STREAM_PATH,
    httpMethod: 'POST',
    multiValueQueryStringParameters: { a: ['1', '2'] },
    requestContext: { authorizer: { keyId: 'k1' } },
    body: Buffer.from('hi').toString('base64'),
    isBase64Encoded: true,
  })
  expect(event).toMatchObject({ left: expect.closeTo(29_000, -3) })
})

test('an answer may have no body, and a head in pieces', async () => {
  const url = await streamGateway(async (_event, stream) => {
    stream.setContentType('application/vnd.awslambda.http-integration-response')
    for (const byte of Buffer.from('{"statusCode":204}\0\0\0\0\0\0\0\0')) stream.write(Buffer.of(byte))
    stream.end()
  })
  const response = await post(url + STREAM_PATH)
  expect(response.status).toBe(204)
  expect(await response.text()).toBe('')
})

test('the limits of an answer in one piece are none of a streamed one', async () => {
  const url = await streamGateway(async (_event, stream) => {
    begin(stream)
    stream.end(Buffer.alloc(11 * MB, 'x'))
  })
  expect((await (await post(url + STREAM_PATH)).arrayBuffer()).byteLength).toBe(11 * MB)
})

test('requests have the limits that they have everywhere', async () => {
  const url = await streamGateway(async (_event, stream) => {
    begin(stream)
    stream.end('reached')
  })
  expect(await (await post(url + STREAM_PATH, Buffer.alloc(4_700_000))).text()).toBe('reached')
  const refused = { status: 413, code: 'payload_too_large' }
  expect(await refusalOf(await post(url + STREAM_PATH, Buffer.alloc(4_719_000)))).toMatchObject(refused)
  expect(await refusalOf(await post(url + STREAM_PATH, Buffer.alloc(10 * MB + 1)))).toMatchObject(refused)
  expect(await refusalOf(await post(url + STREAM_PATH, '', { 'x-api-key': 'bad' }))).toMatchObject({ status: 401 })
})

test('a function writes no faster than its caller reads', async () => {
  const total = 150 * MB
  let written = 0
  const url = await streamGateway(async (_event, stream) => {
    begin(stream)
    const piece = Buffer.alloc(65_536)
    for (; written < total; written += piece.length) {
      if (!stream.write(piece)) await once(stream, 'drain')
    }
    stream.end()
  })
  const response = await post(url + STREAM_PATH)
  let read = 0
  let ahead = 0
  for await (const piece of response.body ?? []) {
    read += piece.length
    ahead = Math.max(ahead, written - read)
  }
  expect(read).toBe(total)
  // What the two ends of a connection on one machine hold by themselves.
  expect(ahead).toBeLessThan(24 * MB)
})

const failing: [what: string, handler: LambdaStreamHandler][] = [
  ['that throws', async () => Promise.reject(new Error('no'))],
  ['that returns without an answer', async () => undefined],
  ['whose answer has no head', async (_, stream) => void stream.end('plain text')],
  ['whose head has no type', async (_, stream) => void stream.end('{}\0\0\0\0\0\0\0\0')],
  ['whose head is no JSON', (_, stream) => headed(stream, '{')],
  ['whose head has unknown fields', (_, stream) => headed(stream, '{"isBase64Encoded":false}')],
  ['whose status is none', (_, stream) => headed(stream, '{"statusCode":99}')],
  ['whose head is too long', (_, stream) => headed(stream, `"${'x'.repeat(16_370)}"`)],
]

test.for(failing)('a function %s is a bad gateway', async ([, handler]) => {
  const onError = vi.fn<(error: unknown) => void>()
  const url = await streamGateway(handler, { onError })
  expect(await refusalOf(await post(url + STREAM_PATH))).toMatchObject({ status: 502, code: 'unavailable' })
  expect(onError).toHaveBeenCalledOnce()
})

async function headed(stream: FunctionStream, head: string): Promise<void> {
  stream.setContentType('application/vnd.awslambda.http-integration-response')
  stream.end(`${head}\0\0\0\0\0\0\0\0`)
}

const breakingOff: [what: string, then: () => Promise<void>][] = [
  ['throws', async () => Promise.reject(new Error('half-way'))],
  ['returns without ending it', async () => undefined],
]

test.for(breakingOff)('the connection breaks when the function %s after the answer began', async ([, then]) => {
  const onError = vi.fn<(error: unknown) => void>()
  const url = await streamGateway(
    async (_event, stream) => {
      begin(stream)
      stream.write('half')
      await then()
    },
    { onError },
  )
  const response = await post(url + STREAM_PATH)
  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow()
  await vi.waitFor(() => expect(onError).toHaveBeenCalledOnce())
})

test('the timeout of the template is for the whole answer', async () => {
  const template = streamTemplate({ TimeoutInMillis: 50 })
  const silent = await streamGateway(() => new Promise(() => undefined), { template })
  expect(await refusalOf(await post(silent + STREAM_PATH))).toMatchObject({ status: 504, code: 'timeout' })
  const slow = await streamGateway(
    (_event, stream) => {
      begin(stream)
      return new Promise(() => undefined)
    },
    { template },
  )
  await expect((await post(slow + STREAM_PATH)).text()).rejects.toThrow()
})

const model = { name: 'f', memorySizeMb: 128, timeoutMs: 60_000, environment: {} }
const open = new AbortController().signal

test('an answer may not pause for longer than the gateway waits', async () => {
  const received: string[] = []
  const receiver = {
    head: () => undefined,
    piece: (piece: Buffer, done: () => void) => {
      received.push(String(piece))
      done()
    },
    end: () => undefined,
  }
  const handler = (_event: unknown, stream: FunctionStream) => {
    begin(stream)
    stream.write('one')
    return new Promise<void>(() => undefined)
  }
  const running = invokeStream(model, handler, {}, { waitMs: 60_000, idleMs: 20 }, receiver, open)
  await expect(running).rejects.toThrow('No byte for 20 ms.')
  expect(received).toEqual(['one'])
})

test('a function streams 200 MB and no more', async () => {
  const piece = Buffer.alloc(8 * MB)
  let received = 0
  const receiver = {
    head: () => undefined,
    piece: ({ length }: Buffer, done: () => void) => {
      received += length
      done()
    },
    end: () => undefined,
  }
  const handler = (over: number) => async (_event: unknown, stream: FunctionStream) => {
    begin(stream, {})
    for (let count = 0; count < 24; count += 1) if (!stream.write(piece)) await once(stream, 'drain')
    stream.end(piece.subarray(0, 8 * MB - '{}'.length - 8 + over))
  }
  const run = (over: number) =>
    invokeStream(model, handler(over), {}, { waitMs: 60_000, idleMs: 60_000 }, receiver, open)
  await run(0)
  expect(received).toBe(200 * MB - 10)
  await expect(run(1)).rejects.toMatchObject({ cause: { message: 'A function streams at most 200 MB.' } })
})

test('a caller that goes away closes the stream of the function', async () => {
  const closed = Promise.withResolvers<boolean>()
  const onError = vi.fn<(error: unknown) => void>()
  const url = await streamGateway(
    (_event, stream) => {
      stream.once('close', () => closed.resolve(stream.writableFinished))
      begin(stream)
      stream.write('first')
      return new Promise(() => undefined)
    },
    { onError },
  )
  const request = http.request(url + STREAM_PATH, { method: 'POST', headers: { 'x-api-key': 'good' } })
  request.on('error', () => undefined).end()
  const [response] = await once(request, 'response')
  await once(response, 'data')
  request.destroy()
  expect(await closed.promise).toBe(false)
  expect(onError).not.toHaveBeenCalled()
})

test('a caller that goes away before the answer began closes it too', async () => {
  const reached = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const url = await streamGateway((_event, stream) => {
    stream.once('close', closed.resolve)
    reached.resolve()
    return new Promise(() => undefined)
  })
  const request = http.request(url + STREAM_PATH, { method: 'POST', headers: { 'x-api-key': 'good' } })
  request.on('error', () => undefined).end()
  await reached.promise
  request.destroy()
  await closed.promise
})

test('the content type comes before what is written', async () => {
  const stream = new FunctionStream({ head: () => undefined, piece: (_, done) => done(), end: () => undefined })
  begin(stream)
  expect(() => stream.setContentType('text/plain')).toThrow('before')
})

test.for([
  [{ ResponseTransferMode: 'BUFFERED' }, 'transfer mode'],
  [{ ResponseTransferMode: 'OTHER' }, 'transfer mode'],
  [{ TimeoutInMillis: 900_001 }, 'between 50 and 900000 ms'],
  [{ TimeoutInMillis: 49 }, 'between 50 and 900000 ms'],
] as const)('the gateway refuses a template with %o', ([changes, message]) => {
  expect(() => readApi(streamTemplate(changes))).toThrow(message)
})

test('how long an answer may pause follows from the endpoint', () => {
  const withTypes = (EndpointConfiguration: unknown) => {
    const template = streamTemplate()
    for (const { Type, Properties } of Object.values(template.Resources)) {
      if (Type === 'AWS::ApiGateway::RestApi') Object.assign(Properties ?? {}, { EndpointConfiguration })
    }
    return readApi(template).streamIdleMs
  }
  expect(withTypes({ Types: ['REGIONAL'] })).toBe(300_000)
  expect(withTypes({ Types: ['PRIVATE'] })).toBe(300_000)
  expect(withTypes({ Types: ['EDGE'] })).toBe(30_000)
  expect(withTypes(undefined)).toBe(30_000)
  expect(() => withTypes({ Types: ['OTHER'] })).toThrow('OTHER')
})
