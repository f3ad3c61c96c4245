import type { APIGatewayRequestAuthorizerEvent, Context } from 'aws-lambda'
import { expect, test } from 'vitest'
import { authorizer, bodyOf, echo, eventOf, exchange, GET_PATH, KEYS_PATH, post, testGateway } from './harness.ts'

test('a body reaches the function as base64 of its bytes, whatever its content type', async () => {
  const url = await testGateway()
  const bytes = Buffer.from([0, 255, 128, 10, 13, 0xc3])
  for (const type of ['application/json', 'application/octet-stream', 'text/plain']) {
    const event = await eventOf(await post(url + GET_PATH, bytes, { 'content-type': type }))
    expect(event.isBase64Encoded).toBe(true)
    expect(Buffer.from(event.body ?? '', 'base64')).toEqual(bytes)
  }
})

test('an event without a body says null, and so do empty maps', async () => {
  const url = await testGateway()
  const event = await eventOf(await post(url + GET_PATH))
  expect(event).toMatchObject({
    body: null,
    isBase64Encoded: false,
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    pathParameters: null,
    stageVariables: null,
  })
})

test('an event names the resource, the request and the caller as a REST API does', async () => {
  const now = Date.UTC(2026, 10, 30, 12, 31, 51)
  const url = await testGateway({}, { now: () => now })
  const response = await post(`${url}${GET_PATH}/?a=1&a=%C3%A4+b&c`, '{}')
  const event = await eventOf(response.clone())
  expect(event).toMatchObject({
    resource: GET_PATH,
    path: `${GET_PATH}/`,
    httpMethod: 'POST',
    queryStringParameters: { a: 'ä b', c: '' },
    multiValueQueryStringParameters: { a: ['1', 'ä b'], c: [''] },
  })
  expect(event.requestContext).toMatchObject({
    resourcePath: GET_PATH,
    path: `${GET_PATH}/`,
    httpMethod: 'POST',
    stage: 'api',
    protocol: 'HTTP/1.1',
    requestTime: '30/Nov/2026:12:31:51 +0000',
    requestTimeEpoch: now,
    domainName: new URL(url).host,
  })
  expect(event.requestContext.identity).toMatchObject({ sourceIp: '127.0.0.1', userAgent: 'node' })
  expect(event.requestContext.requestId).toBe(response.headers.get('x-amzn-requestid'))
})

test('header names keep the spelling of the client, and the last of several values is the single one', async () => {
  const url = await testGateway()
  const head = [
    `POST ${GET_PATH} HTTP/1.1`,
    'Host: example.test',
    'X-API-key: good',
    'x-SANDBOX-tenant-ID: one',
    'X-Sandbox-Tenant-Id: two',
    'X-FORWARDED-for: 6.6.6.6',
    'Connection: close',
  ]
  const event = bodyOf(await exchange(url, `${head.join('\r\n')}\r\n\r\n`))
  expect(event.multiValueHeaders).toMatchObject({
    'X-API-key': ['good'],
    'x-SANDBOX-tenant-ID': ['one', 'two'],
    'X-Forwarded-For': ['127.0.0.1'],
    'X-Forwarded-Proto': ['http'],
  })
  expect(event.headers['x-SANDBOX-tenant-ID']).toBe('two')
  expect(Object.keys(event.headers)).not.toContain('Connection')
  expect(Object.keys(event.headers)).not.toContain('X-FORWARDED-for')
  expect(event.requestContext.domainName).toBe('example.test')
})

test('the path of an event is encoded as received', async () => {
  const url = await testGateway()
  const response = await post(`${url}${GET_PATH}?x=%2F`)
  expect((await eventOf(response)).path).toBe(GET_PATH)
  const encoded = await post(`${url}/sandbox/checkpoints/v1/%67et`)
  expect(encoded.status).toBe(404)
})

test('the authorizer gets the request without its body, and its context reaches the function as strings', async () => {
  const asked: APIGatewayRequestAuthorizerEvent[] = []
  const url = await testGateway({
    authorizer: (event, context) => {
      asked.push(event)
      return authorizer(event, context)
    },
  })
  const event = await eventOf(await post(url + GET_PATH, '{"id":"a"}'))
  expect(event.requestContext.authorizer).toEqual({ principalId: 'p1', keyId: 'k1', level: '3', on: 'true' })
  expect(asked).toHaveLength(1)
  expect(asked[0]).toMatchObject({
    type: 'REQUEST',
    methodArn: `arn:aws:execute-api:us-east-1:000000000000:local/api/POST${GET_PATH}`,
    queryStringParameters: {},
    pathParameters: {},
    stageVariables: {},
  })
  expect(asked[0]).not.toHaveProperty('body')
})

test('a handler gets the context of its function, as the template has it', async () => {
  const contexts: Context[] = []
  const url = await testGateway({
    checkpoints: async (_event, context: Context) => {
      contexts.push(context)
      return { statusCode: 204 }
    },
  })
  await post(url + GET_PATH)
  expect(contexts[0]).toMatchObject({ functionName: 'checkpoints', memoryLimitInMB: '1769' })
  const left = contexts[0]?.getRemainingTimeInMillis() ?? 0
  expect(left).toBeGreaterThan(20_000)
  expect(left).toBeLessThanOrEqual(29_000)
})

test('each function answers its own routes', async () => {
  const named = (name: string) => async () => ({ statusCode: 200, body: name })
  const url = await testGateway({ checkpoints: named('c'), instances: named('i'), keys: named('k') })
  const text = async (path: string, method = 'POST') =>
    (await fetch(url + path, { method, headers: { 'x-api-key': 'good' } })).text()
  expect(await text(GET_PATH)).toBe('c')
  expect(await text('/sandbox/instances/v1/upsert')).toBe('i')
  expect(await text(KEYS_PATH)).toBe('k')
  expect(await text(KEYS_PATH, 'GET')).toBe('k')
})

test('a change that a handler makes to its event stays its own', async () => {
  const url = await testGateway({
    checkpoints: (event, context) => {
      event.headers.added = 'x'
      return echo(event, context)
    },
  })
  await post(url + GET_PATH)
  const second = await eventOf(await post(url + GET_PATH))
  expect(second.multiValueHeaders).not.toHaveProperty('added')
})
