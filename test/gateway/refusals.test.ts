import { expect, test } from 'vitest'
import type { LambdaHandler, Template } from '../../local/gateway/index.ts'
import { isRecord, resourcesOfType } from '../../local/gateway/template.ts'
import {
  authorizer,
  bodyOf,
  exchange,
  freshTemplate,
  GET_PATH,
  KEYS_PATH,
  policy,
  post,
  refusalOf,
  testGateway,
  USAGE_KEY,
} from './harness.ts'

const withKey = (key: string) => ({ method: 'POST', headers: { 'x-api-key': key } })

test.for([
  '/',
  '/sandbox',
  '/sandbox/checkpoints/v1',
  '/nothing',
  `${GET_PATH}/more`,
  `/${GET_PATH}`,
  '/sandbox/checkpoints/v1/__proto__',
])('a path without a route is not found: %s', async (path) => {
  const url = await testGateway()
  expect(await refusalOf(await fetch(url + path, withKey('none')))).toMatchObject({ status: 404, code: 'not_found' })
})

test.for(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('a method that the route does not have: %s', async (method) => {
  const url = await testGateway()
  const response = await fetch(url + GET_PATH, { method })
  expect(response.headers.get('allow')).toBe('POST')
  expect(await refusalOf(response)).toMatchObject({ status: 405, code: 'method_not_allowed' })
})

test('a wrong method is refused before the key and the body are looked at', async () => {
  const url = await testGateway()
  const response = await fetch(url + KEYS_PATH, {
    method: 'PUT',
    body: 'x=1',
    headers: { 'content-type': 'text/plain' },
  })
  expect(response.status).toBe(405)
  expect(response.headers.get('allow')).toBe('GET, POST')
})

test('HEAD has the status and the headers alone', async () => {
  const url = await testGateway()
  const response = await fetch(url + GET_PATH, { method: 'HEAD' })
  expect(response.status).toBe(405)
  expect(response.headers.get('allow')).toBe('POST')
  expect(await response.text()).toBe('')
})

test('a mock refuses content types that it has no template for, as AWS does', async () => {
  const url = await testGateway()
  const sent = { method: 'PUT', body: 'x', headers: { 'content-type': 'image/png' } }
  expect(await refusalOf(await fetch(url + GET_PATH, sent))).toMatchObject({
    status: 415,
    code: 'unsupported_media_type',
  })
})

test('no key and a wrong key are unauthenticated', async () => {
  const url = await testGateway()
  expect(await refusalOf(await fetch(url + GET_PATH, { method: 'POST' }))).toMatchObject({
    status: 401,
    code: 'unauthenticated',
  })
  expect(await refusalOf(await fetch(url + GET_PATH, withKey('bad')))).toMatchObject({ status: 401 })
})

test('a policy that denies, or is for other methods, is forbidden', async () => {
  const url = await testGateway()
  expect(await refusalOf(await fetch(url + GET_PATH, withKey('denied')))).toMatchObject({
    status: 403,
    code: 'forbidden',
  })
  const other = await testGateway({
    authorizer: async () => policy('Allow', 'arn:aws:execute-api:*:*:local/api/GET/*'),
  })
  expect(await refusalOf(await fetch(other + GET_PATH, withKey('good')))).toMatchObject({ status: 403 })
})

test('what one statement denies, no other allows', async () => {
  const statement = (Effect: string, Resource: string) => ({ Action: 'execute-api:*', Effect, Resource })
  const Statement = [statement('Allow', '*'), statement('Deny', `*/POST${GET_PATH}`)]
  const answer = { principalId: 'p', policyDocument: { Statement }, usageIdentifierKey: USAGE_KEY }
  const url = await testGateway({ authorizer: async () => answer })
  expect(await refusalOf(await fetch(url + GET_PATH, withKey('good')))).toMatchObject({ status: 403 })
  expect((await fetch(url + KEYS_PATH, withKey('good'))).status).toBe(200)
})

const brokenAuthorizers: [string, LambdaHandler][] = [
  ['it throws', () => Promise.reject(new Error('unauthorized'))],
  ['it gives nothing', async () => undefined],
  ['it gives no policy', async () => ({ principalId: 'p' })],
  ['its context holds a list', async () => policy('Allow', '*', { list: [] })],
]

test.for(brokenAuthorizers)('an authorizer that is broken is an internal error: %s', async ([, broken]) => {
  const url = await testGateway({ authorizer: broken })
  expect(await refusalOf(await fetch(url + GET_PATH, withKey('good')))).toMatchObject({
    status: 500,
    code: 'internal_error',
  })
})

const brokenFunctions: [string, LambdaHandler][] = [
  ['throws', () => Promise.reject(new Error('secret'))],
  [
    'throws at once',
    () => {
      throw new Error('secret')
    },
  ],
  ['gives nothing', async () => undefined],
  ['gives a text', async () => 'ok'],
  ['gives an unknown field', async () => ({ statusCode: 200, cookies: [] })],
  ['gives a body that is no text', async () => ({ statusCode: 200, body: { a: 1 } })],
  ['gives no status', async () => ({ statusCode: 'ok' })],
  ['gives a header with a line break', async () => ({ statusCode: 200, headers: { a: 'b\r\nc: d' } })],
  ['gives a header without a name', async () => ({ statusCode: 200, multiValueHeaders: { '': ['b'] } })],
  ['gives a list for a header', async () => ({ statusCode: 200, headers: { a: ['b'] } })],
]

test.for(brokenFunctions)('a function that %s is a bad gateway, and tells nothing', async ([, checkpoints]) => {
  const errors: unknown[] = []
  const url = await testGateway({ checkpoints }, { onError: (error) => errors.push(error) })
  const refusal = await refusalOf(await post(url + GET_PATH, '{}'))
  expect(refusal.status).toBe(502)
  expect(JSON.stringify(refusal)).not.toContain('secret')
  expect(errors).toHaveLength(1)
})

test('a body that is not the base64 it says it is', async () => {
  const url = await testGateway({ checkpoints: async () => ({ statusCode: 200, body: '***', isBase64Encoded: true }) })
  expect(await refusalOf(await post(url + GET_PATH))).toMatchObject({ status: 500, code: 'internal_error' })
})

test('a function that outlasts the integration timeout of the template is a gateway timeout', async () => {
  const template = freshTemplate()
  for (const [, method] of resourcesOfType(template, 'AWS::ApiGateway::Method')) {
    const integration = method.Properties?.Integration
    if (isRecord(integration) && integration.Type === 'AWS_PROXY') integration.TimeoutInMillis = 50
  }
  const url = await testGateway({ checkpoints: () => new Promise(() => undefined) }, { template })
  expect(await refusalOf(await post(url + GET_PATH))).toMatchObject({ status: 504, code: 'timeout' })
})

test('every refusal carries an id of its own', async () => {
  const url = await testGateway()
  const ids = await Promise.all(
    [fetch(url), fetch(url + GET_PATH), post(url + GET_PATH, '', { 'x-api-key': 'bad' })].map(
      async (response) => (await refusalOf(await response)).requestId,
    ),
  )
  expect(new Set(ids).size).toBe(3)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/)
})

test.for(['GARBAGE\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n'])(
  'what is no HTTP request gets a 400 in the same shape: %j',
  async (text) => {
    const url = await testGateway()
    const response = await exchange(url, text)
    expect(response).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(bodyOf(response)).toMatchObject({ error: { code: 'invalid_request' } })
    expect(response).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/)
  },
)

const unknownTemplates: [string, (template: Template) => void][] = [
  ['without an API', (template) => removeType(template, 'AWS::ApiGateway::RestApi')],
  ['without gateway responses', (template) => removeType(template, 'AWS::ApiGateway::GatewayResponse')],
  ['with a variable in a response', variableInResponses],
]

test.for(unknownTemplates)('a template that the gateway cannot do is refused at the start: %s', async ([, change]) => {
  const template = freshTemplate()
  change(template)
  await expect(testGateway({}, { template })).rejects.toThrow(/gateway|REST API/)
})

test('a missing handler is named at the start', async () => {
  await expect(testGateway({ authorizer, keys: undefined as never })).rejects.toThrow('the function keys')
})

function removeType(template: Template, type: string): void {
  for (const [id] of resourcesOfType(template, type)) delete template.Resources[id]
}

function variableInResponses(template: Template): void {
  for (const [, response] of resourcesOfType(template, 'AWS::ApiGateway::GatewayResponse')) {
    response.Properties = {
      ...response.Properties,
      ResponseTemplates: { 'application/json': '$context.error.message' },
    }
  }
}
