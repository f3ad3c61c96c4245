import { ResponseType } from 'aws-cdk-lib/aws-apigateway'
import { expect, test } from 'vitest'
import { ROUTES_BY_SERVICE } from '../../lambdas/all-routes.ts'
import type { AnyRoute } from '../../lambdas/shared/routes.ts'
import { SECURITY_HEADERS } from '../../lambdas/shared/security-headers.ts'
import { readApi } from '../../local/gateway/read-api.ts'
import type { Template } from '../../local/gateway/template.ts'
import { only, resources, synth } from './synth.ts'

const template = synth()
const api = readApi(template.toJSON() as Template)
const byPath = new Map(api.resources.map((resource) => [resource.path, resource]))

const securityHeaders = Object.fromEntries(
  Object.entries(SECURITY_HEADERS).map(([name, text]) => [name, { kind: 'text', text }]),
)

const streaming = new Set(['anthropic', 'file-content', 'project-md'])
const routes = Object.entries<readonly AnyRoute[]>(ROUTES_BY_SERVICE).flatMap(([service, ofService]) =>
  ofService.map((route) => ({ service, streams: streaming.has(service), ...route })),
)

test.for(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
  '%s has a method of its service, behind the authorizer unless it is public',
  ([, { method, path, service, streams, role }]) => {
    const timeoutMs = streams ? 900_000 : 29_000
    const found = byPath.get(path)?.methods.get(method)
    expect(found?.authorizer?.name).toBe(role === undefined ? undefined : 'authorizer')
    expect(found?.integration).toMatchObject({ kind: 'lambda', streams, timeoutMs, function: { name: service } })
  },
)

test('only the description of the API is public', () => {
  expect(routes.filter(({ role }) => role === undefined).map(({ path }) => path)).toEqual(['/openapi.json'])
})

test.for([...new Set(routes.map(({ path }) => path))])('the other methods of %s are not allowed', (path) => {
  const allow = routes.filter((route) => route.path === path).map(({ method }) => method)
  const method = byPath.get(path)?.methods.get('ANY')
  expect(method).not.toHaveProperty('authorizer')
  expect(method?.integration).toMatchObject({
    kind: 'mock',
    status: 405,
    contentType: 'application/json',
    headers: {
      ...securityHeaders,
      allow: { kind: 'text', text: allow.sort().join(', ') },
      'x-request-id': { kind: 'requestId' },
    },
  })
})

test('the API has the routes and nothing else', () => {
  const methods = api.resources.flatMap(({ path, methods }) => [...methods.keys()].map((method) => `${method} ${path}`))
  const expected = routes.map(({ method, path }) => `${method} ${path}`)
  expect(methods.filter((method) => !method.startsWith('ANY ')).sort()).toEqual(expected.sort())
})

test('the API is regional, all its bodies are binary, and it asks the authorizer every time', () => {
  template.hasResourceProperties('AWS::ApiGateway::RestApi', {
    EndpointConfiguration: { Types: ['REGIONAL'] },
    BinaryMediaTypes: ['*/*'],
  })
  template.hasResourceProperties('AWS::ApiGateway::Authorizer', {
    Type: 'REQUEST',
    AuthorizerResultTtlInSeconds: 0,
    IdentitySource: '',
  })
})

/** Those of Cognito's and of API Gateway's own keys cannot happen, and have the shape all the same. */
const types = Object.values(ResponseType)
  .filter((value): value is ResponseType => value instanceof ResponseType)
  .map(({ responseType }) => responseType)

test.for(types)('the gateway words %s as the services do', (type) => {
  const response = api.gatewayResponses.get(type)
  expect(response).toMatchObject({
    contentType: 'application/json',
    headers: { ...securityHeaders, 'x-request-id': { kind: 'requestId' } },
  })
  const { error } = JSON.parse(response?.body ?? '')
  expect(error.code).toMatch(/^[a-z_]+$/)
  expect(error.message).toMatch(/^[A-Z].*\.$/)
})

test.for([
  ['MISSING_AUTHENTICATION_TOKEN', 404, 'not_found'],
  ['RESOURCE_NOT_FOUND', 404, 'not_found'],
  ['UNAUTHORIZED', 401, 'unauthenticated'],
  ['ACCESS_DENIED', 403, 'forbidden'],
  ['REQUEST_TOO_LARGE', 413, 'payload_too_large'],
  ['UNSUPPORTED_MEDIA_TYPE', 415, 'unsupported_media_type'],
  ['THROTTLED', 429, 'too_many_requests'],
  ['QUOTA_EXCEEDED', 429, 'too_many_requests'],
  ['INTEGRATION_FAILURE', 502, 'unavailable'],
  ['INTEGRATION_TIMEOUT', 504, 'timeout'],
] as const)('the status and the code of %s', ([type, status, code]) => {
  const response = api.gatewayResponses.get(type)
  expect(response?.status).toBe(status)
  expect(JSON.parse(response?.body ?? '').error.code).toBe(code)
})

test('the defaults keep the status that the gateway chose', () => {
  expect(api.gatewayResponses.get('DEFAULT_4XX')).not.toHaveProperty('status')
  expect(api.gatewayResponses.get('DEFAULT_5XX')).not.toHaveProperty('status')
})

test('requests are throttled, and logged with the id that the caller gets', () => {
  const { Properties } = only(synth({ throttling: { rateLimit: 5, burstLimit: 9 } }), 'AWS::ApiGateway::Stage')
  expect(Properties.MethodSettings).toMatchObject([
    { HttpMethod: '*', ResourcePath: '/*', ThrottlingRateLimit: 5, ThrottlingBurstLimit: 9 },
  ])
  const format = JSON.parse(only(template, 'AWS::ApiGateway::Stage').Properties.AccessLogSetting.Format)
  expect(format).toMatchObject({ requestId: '$context.requestId', status: '$context.status' })
  expect(JSON.stringify(format)).not.toMatch(/api-?key/i)
})

test('the role for access logs can be left to another stack', () => {
  expect(resources(template, 'AWS::ApiGateway::Account')).toHaveLength(1)
  expect(resources(synth({ cloudWatchRole: false }), 'AWS::ApiGateway::Account')).toEqual([])
})

test('the outputs name the API, the table and the bucket', () => {
  const outputs = template.toJSON().Outputs
  expect(Object.keys(outputs).sort()).toEqual(['ApiUrl', 'BucketName', 'TableName'])
  expect(JSON.stringify(outputs.ApiUrl.Value)).not.toMatch(/\/"\]*\}*$/)
})

test('the template is the same every time', () => {
  expect(synth({}).toJSON()).toEqual(template.toJSON())
})
