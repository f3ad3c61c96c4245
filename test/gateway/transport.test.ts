import http from 'node:http'
import { expect, test } from 'vitest'
import { startGateway } from '../../local/gateway/index.ts'
import {
  authorizer,
  bodyOf,
  echo,
  endAtOnce,
  eventOf,
  everyFunction,
  exchange,
  freshTemplate,
  GET_PATH,
  post,
  refusalOf,
  testGateway,
} from './harness.ts'

const MB = 1_048_576

test('binary and text bodies come back as the function gave them', async () => {
  const bytes = Buffer.from([0, 1, 254, 255, 0xf0, 0x9f])
  const url = await testGateway({
    checkpoints: async () => ({ statusCode: 201, body: bytes.toString('base64'), isBase64Encoded: true }),
    instances: async () => ({ statusCode: 200, body: 'ä€😀', headers: { 'content-type': 'text/plain' } }),
  })
  const binary = await post(url + GET_PATH)
  expect(binary.status).toBe(201)
  expect(Buffer.from(await binary.arrayBuffer())).toEqual(bytes)
  const text = await post(`${url}/sandbox/instances/v1/get`)
  expect(await text.text()).toBe('ä€😀')
  expect(text.headers.get('content-type')).toBe('text/plain')
})

test('headers of an answer: several values, the default type, and those that the gateway keeps for itself', async () => {
  const url = await testGateway({
    checkpoints: async () => ({
      statusCode: 200,
      headers: { 'x-one': 'lost', 'x-number': 5, Date: 'never', 'transfer-encoding': 'chunked' },
      multiValueHeaders: { 'X-One': ['a', 'b'], 'set-cookie': ['c=1', 'd=2'] },
      body: 'x',
    }),
  })
  const { headers } = await post(url + GET_PATH)
  expect(headers.get('x-one')).toBe('a, b')
  expect(headers.getSetCookie()).toEqual(['c=1', 'd=2'])
  expect(headers.get('x-number')).toBe('5')
  expect(headers.get('content-type')).toBe('application/json')
  expect(headers.get('x-amzn-remapped-date')).toBe('never')
  expect(headers.get('content-length')).toBe('1')
})

test('a body over 10 MB is refused, with where to upload it', async () => {
  const url = await testGateway()
  const refusal = await refusalOf(await post(url + GET_PATH, Buffer.alloc(10 * MB + 1)))
  expect(refusal).toMatchObject({ status: 413, code: 'payload_too_large' })
  expect(refusal.error).toHaveProperty('upload', '')
  const uploads = {
    artifact: '/sandbox/memory/v1/tasks/{task_id}/turns/{turn}/artifacts/{name}/upload',
    checkpoint: '/sandbox/checkpoints/v1/uploads',
    file: '/sandbox/files/v1/uploads',
    snapshot: '/sandbox/sandboxes/v1/uploads',
  }
  expect(refusal.error).toMatchObject({ uploads })
})

test('a body over 10 MB of which the length was not told is refused too', async () => {
  const url = await testGateway()
  const chunk = Buffer.alloc(MB)
  const stream = ReadableStream.from(Array.from({ length: 11 }, () => chunk))
  const response = await fetch(url + GET_PATH, {
    method: 'POST',
    body: stream,
    headers: { 'x-api-key': 'good' },
    duplex: 'half',
  } as RequestInit)
  expect(await refusalOf(response)).toMatchObject({ status: 413, code: 'payload_too_large' })
})

test('an event over 6 MB does not reach the function', async () => {
  const reached: number[] = []
  const url = await testGateway({
    checkpoints: async (event) => {
      reached.push(event.body.length)
      return { statusCode: 204 }
    },
  })
  // Base64 makes 4 bytes of 3, and the rest of the event is some two thousand bytes.
  expect((await post(url + GET_PATH, Buffer.alloc(4_700_000))).status).toBe(204)
  expect(await refusalOf(await post(url + GET_PATH, Buffer.alloc(4_719_000)))).toMatchObject({ status: 413 })
  expect(reached).toHaveLength(1)
})

test('a result over 6 MB is a bad gateway', async () => {
  const url = await testGateway({
    checkpoints: async (event) => ({ statusCode: 200, body: 'x'.repeat(Number(event.headers.size)) }),
  })
  expect((await post(url + GET_PATH, '', { size: '6291000' })).status).toBe(200)
  expect(await refusalOf(await post(url + GET_PATH, '', { size: '6291556' }))).toMatchObject({ status: 502 })
})

test('the request line and the header values have 10,240 bytes together', async () => {
  const url = await testGateway()
  expect((await post(url + GET_PATH, '', { 'x-long': 'a'.repeat(9_000) })).status).toBe(200)
  const over = await post(url + GET_PATH, '', { 'x-long': 'a'.repeat(10_241) })
  expect(await refusalOf(over)).toMatchObject({ status: 431, code: 'invalid_request' })
  const far = await exchange(url, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`)
  expect(far).toMatch(/^HTTP\/1\.1 431 /)
  expect(bodyOf(far).error.code).toBe('invalid_request')
})

test('the path of a request that an authorizer is asked about is within what its ARN may have', async () => {
  const url = await testGateway()
  const before = `arn:aws:execute-api:us-east-1:000000000000:local/api/GET/sandbox/memory/v1/tasks/`.length
  const get = (length: number) =>
    fetch(`${url}/sandbox/memory/v1/tasks/${'a'.repeat(length)}`, { headers: { 'x-api-key': 'good' } })
  expect((await get(1_600 - before)).status).toBe(200)
  expect(await refusalOf(await get(1_601 - before))).toMatchObject({ status: 414, code: 'invalid_request' })
})

test('one connection serves many requests, refused ones with a body too', async () => {
  const url = await testGateway()
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const ports = new Set<number | undefined>()
  const send = (key: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const request = http.request(
        url + GET_PATH,
        { method: 'POST', agent, headers: { 'x-api-key': key } },
        (response) => {
          ports.add(response.socket.localPort)
          response.resume().on('end', () => resolve(response.statusCode))
        },
      )
      request.on('error', reject).end('{"a":1}')
    })
  const statuses = [await send('good'), await send('bad'), await send('good'), await send('good')]
  agent.destroy()
  expect(statuses).toEqual([200, 401, 200, 200])
  expect(ports.size).toBe(1)
})

test('a client that waits for 100 Continue gets it after its key is checked, or the refusal at once', async () => {
  const url = await testGateway()
  const send = (key: string, length: number) =>
    new Promise<{ continued: boolean; status: number | undefined }>((resolve, reject) => {
      let continued = false
      const headers = { 'x-api-key': key, expect: '100-continue', 'content-length': length }
      const request = http.request(url + GET_PATH, { method: 'POST', headers }, (response) => {
        response.resume()
        response.on('end', () => resolve({ continued, status: response.statusCode }))
        request.destroy()
      })
      request.on('continue', () => {
        continued = true
        request.end('x'.repeat(length))
      })
      request.on('error', reject)
      request.flushHeaders()
    })
  expect(await send('good', 10)).toEqual({ continued: true, status: 200 })
  expect(await send('bad', 10)).toEqual({ continued: false, status: 401 })
  expect(await send('good', 11 * MB)).toEqual({ continued: false, status: 413 })
})

test('requests run at the same time', async () => {
  const waiting: (() => void)[] = []
  const url = await testGateway({
    checkpoints: async (event, context) => {
      // All go on when the last one is here: one at a time would never end.
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        if (waiting.length === 50) for (const go of waiting) go()
      })
      return echo(event, context)
    },
  })
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => eventOf(await post(`${url}${GET_PATH}?n=${index}`))),
  )
  expect(answers.map((event) => event.queryStringParameters?.n)).toEqual(
    Array.from({ length: 50 }, (_, n) => String(n)),
  )
})

test('a client that goes away in the middle of its body disturbs nobody', async () => {
  const errors: unknown[] = []
  const url = await testGateway({}, { onError: (error) => errors.push(error) })
  const request = http.request(url + GET_PATH, {
    method: 'POST',
    headers: { 'x-api-key': 'good', 'content-length': 100 },
  })
  const gone = new Promise((resolve) => request.on('error', resolve))
  request.write('half', () => request.destroy(new Error('gone')))
  await gone
  expect((await post(url + GET_PATH)).status).toBe(200)
  expect(errors).toEqual([])
})

test('stopping waits for what is being answered, and takes nothing new', async () => {
  let answer: () => void = () => undefined
  const reached = Promise.withResolvers<void>()
  const gateway = await startGateway({
    template: freshTemplate(),
    streamHandlers: everyFunction(endAtOnce),
    handlers: {
      ...everyFunction(echo),
      authorizer,
      checkpoints: () => {
        reached.resolve()
        return new Promise((resolve) => {
          answer = () => resolve({ statusCode: 200, body: 'done' })
        })
      },
    },
  })
  const pending = post(gateway.url + GET_PATH)
  await reached.promise
  const stopped = gateway.stop()
  await expect(fetch(gateway.url)).rejects.toThrow()
  answer()
  expect(await (await pending).text()).toBe('done')
  await stopped
})
