import { FUNCTION_METADATA } from '../../lib/service-function.ts'
import { readConstantTemplate, readHeaderMappings, readResponseTemplate } from './constant-mapping.ts'
import { MAX_TIMEOUT_MS, MIN_TIMEOUT_MS, STREAM_IDLE_MS } from './limits.ts'
import type {
  ApiModel,
  FunctionModel,
  GatewayResponseModel,
  LambdaIntegrationModel,
  MethodModel,
  MockIntegrationModel,
  ResourceModel,
} from './model.ts'
import { readThrottling } from './read-throttling.ts'
import {
  asRecord,
  isRecord,
  referencedId,
  resourcesOfType,
  stringProperty,
  type Template,
  type TemplateResource,
} from './template.ts'

/**
 * Reads the REST API of a template.
 * @throws Error when the template uses what this gateway does not do, rather than to behave otherwise than AWS
 */
export function readApi(template: Template): ApiModel {
  const [api, ...others] = resourcesOfType(template, 'AWS::ApiGateway::RestApi')
  if (!api || others.length > 0) throw new Error('The template must have one REST API.')
  if (JSON.stringify(api[1].Properties?.BinaryMediaTypes) !== '["*/*"]') {
    throw new Error('The gateway takes an API whose binary media types are */* only.')
  }
  if (api[1].Properties?.ApiKeySourceType !== 'AUTHORIZER') {
    throw new Error('The gateway takes an API whose authorizer names the API keys only.')
  }
  const functions = readFunctions(template)
  const authorizers = readAuthorizers(template, functions)
  return {
    resources: readResources(template, functions, authorizers),
    gatewayResponses: readGatewayResponses(template),
    throttling: readThrottling(template),
    streamIdleMs: readStreamIdle(api[1]),
  }
}

/** An API that does not say is for the edge. */
function readStreamIdle(api: TemplateResource): number {
  const { Types: types = ['EDGE'] } = asRecord(api.Properties?.EndpointConfiguration)
  const [type] = Array.isArray(types) ? types : []
  const idle = STREAM_IDLE_MS[type]
  if (idle === undefined) throw new Error(`The gateway does not do endpoints of the type ${String(type)}.`)
  return idle
}

/** The functions of the template that have a handler here, by logical id. */
export function readFunctions(template: Template): Map<string, FunctionModel> {
  const functions = new Map<string, FunctionModel>()
  for (const [id, resource] of resourcesOfType(template, 'AWS::Lambda::Function')) {
    const name = resource.Metadata?.[FUNCTION_METADATA]
    if (typeof name !== 'string') continue
    functions.set(id, {
      name,
      memorySizeMb: Number(resource.Properties?.MemorySize ?? 128),
      timeoutMs: Number(resource.Properties?.Timeout ?? 3) * 1_000,
      environment: readEnvironment(resource),
    })
  }
  return functions
}

/** @throws Error when the template has no such function */
export function functionNamed(template: Template, wanted: string): FunctionModel {
  const found = [...readFunctions(template).values()].find(({ name }) => name === wanted)
  if (!found) throw new Error(`The template has no function "${wanted}".`)
  return found
}

function readEnvironment(resource: TemplateResource): Record<string, string> {
  const variables = Object.entries(asRecord(asRecord(resource.Properties?.Environment).Variables))
  return Object.fromEntries(
    variables.filter((variable): variable is [string, string] => typeof variable[1] === 'string'),
  )
}

/** The function whose ARN stands in an invocation URI, which the template joins from parts. */
function functionOf(functions: ReadonlyMap<string, FunctionModel>, uri: unknown): FunctionModel {
  const text = JSON.stringify(uri)
  for (const [id, model] of functions) {
    if (text.includes(`"Fn::GetAtt":["${id}","Arn"]`)) return model
  }
  throw new Error(`No function of the template answers ${text}.`)
}

function readAuthorizers(template: Template, functions: ReadonlyMap<string, FunctionModel>) {
  const authorizers = new Map<string, FunctionModel>()
  for (const [id, resource] of resourcesOfType(template, 'AWS::ApiGateway::Authorizer')) {
    const { Type, AuthorizerResultTtlInSeconds, IdentitySource, AuthorizerUri } = resource.Properties ?? {}
    if (Type !== 'REQUEST' || AuthorizerResultTtlInSeconds !== 0 || IdentitySource) {
      throw new Error('The gateway takes REQUEST authorizers without identity sources and without a cache only.')
    }
    authorizers.set(id, functionOf(functions, AuthorizerUri))
  }
  return authorizers
}

function readResources(
  template: Template,
  functions: ReadonlyMap<string, FunctionModel>,
  authorizers: ReadonlyMap<string, FunctionModel>,
): ResourceModel[] {
  const declared = new Map(resourcesOfType(template, 'AWS::ApiGateway::Resource'))
  const pathOf = (id: string): string => {
    const resource = declared.get(id)
    if (!resource) throw new Error(`The template has no resource ${id}.`)
    const parent = referencedId(resource.Properties?.ParentId) ?? ''
    return `${declared.has(parent) ? pathOf(parent) : ''}/${stringProperty(resource, 'PathPart')}`
  }
  const methods = resourcesOfType(template, 'AWS::ApiGateway::Method').map(([, method]) => ({
    resourceId: referencedId(method.Properties?.ResourceId) ?? '',
    httpMethod: stringProperty(method, 'HttpMethod'),
    model: readMethod(method, functions, authorizers),
  }))
  return [...Map.groupBy(methods, ({ resourceId }) => resourceId)].map(([id, ofResource]) => ({
    id,
    path: declared.has(id) ? pathOf(id) : '/',
    methods: new Map(ofResource.map(({ httpMethod, model }) => [httpMethod, model])),
  }))
}

function readMethod(
  method: TemplateResource,
  functions: ReadonlyMap<string, FunctionModel>,
  authorizers: ReadonlyMap<string, FunctionModel>,
): MethodModel {
  const { Integration: integration, AuthorizationType: type, AuthorizerId: authorizerId } = method.Properties ?? {}
  const keyRequired = method.Properties?.ApiKeyRequired === true
  if (!isRecord(integration)) throw new Error('A method of the template has no integration.')
  const model = readIntegration(integration, functions)
  if (type === 'NONE') return { keyRequired, integration: model }
  const authorizer = authorizers.get(referencedId(authorizerId) ?? '')
  if (type !== 'CUSTOM' || !authorizer) throw new Error(`The gateway does not do the authorization ${String(type)}.`)
  return { authorizer, keyRequired, integration: model }
}

function readIntegration(
  integration: Record<string, unknown>,
  functions: ReadonlyMap<string, FunctionModel>,
): LambdaIntegrationModel | MockIntegrationModel {
  if (integration.Type === 'MOCK') return readMock(integration)
  if (integration.Type !== 'AWS_PROXY') {
    throw new Error(`The gateway does not do integrations of the type ${String(integration.Type)}.`)
  }
  const streams = readTransferMode(integration)
  const most = streams ? MAX_TIMEOUT_MS.streamed : MAX_TIMEOUT_MS.buffered
  const timeoutMs = Number(integration.TimeoutInMillis ?? MAX_TIMEOUT_MS.buffered)
  if (!(timeoutMs >= MIN_TIMEOUT_MS && timeoutMs <= most)) {
    throw new Error(`The timeout of an integration must be between ${MIN_TIMEOUT_MS} and ${most} ms.`)
  }
  return { kind: 'lambda', function: functionOf(functions, integration.Uri), streams, timeoutMs }
}

/** Whether the answer is streamed, which the mode and what is invoked must say both. */
function readTransferMode({ ResponseTransferMode: mode = 'BUFFERED', Uri: uri }: Record<string, unknown>): boolean {
  const invokesStream = JSON.stringify(uri).includes('/response-streaming-invocations')
  if ((mode !== 'STREAM' && mode !== 'BUFFERED') || invokesStream !== (mode === 'STREAM')) {
    throw new Error(`The gateway does not do the transfer mode ${String(mode)} with ${JSON.stringify(uri)}.`)
  }
  return invokesStream
}

function readMock(integration: Record<string, unknown>): MockIntegrationModel {
  const { RequestTemplates: requests, IntegrationResponses: responses } = integration
  // A mock fails on AWS where the gateway takes its request or answer for binary.
  const [response] = Array.isArray(responses) && responses.length === 1 ? responses : []
  const asText = [integration.ContentHandling, response?.ContentHandling].every((is) => is === 'CONVERT_TO_TEXT')
  if (integration.PassthroughBehavior !== 'NEVER' || !asText || !isRecord(requests) || !isRecord(response)) {
    throw new Error('The gateway takes mocks of one answer that are text, and never pass a request through, only.')
  }
  const status = Number(response.StatusCode)
  for (const template of Object.values(requests)) {
    if (JSON.parse(readConstantTemplate(template)).statusCode !== status) {
      throw new Error(`A mock's request template must choose its answer, ${status}.`)
    }
  }
  return {
    kind: 'mock',
    requestTypes: new Set(Object.keys(requests)),
    status,
    headers: readHeaderMappings(asRecord(response.ResponseParameters), 'method.response.header.'),
    ...readBody(response.ResponseTemplates, readConstantTemplate),
  }
}

function readGatewayResponses(template: Template): Map<string, GatewayResponseModel> {
  const responses = new Map(
    resourcesOfType(template, 'AWS::ApiGateway::GatewayResponse').map(([, resource]) => [
      stringProperty(resource, 'ResponseType'),
      readGatewayResponse(resource),
    ]),
  )
  for (const type of ['DEFAULT_4XX', 'DEFAULT_5XX']) {
    if (!responses.has(type)) throw new Error(`The template must have a gateway response ${type}.`)
  }
  return responses
}

function readGatewayResponse(resource: TemplateResource): GatewayResponseModel {
  const { StatusCode, ResponseParameters, ResponseTemplates } = resource.Properties ?? {}
  return {
    ...(StatusCode === undefined ? {} : { status: Number(StatusCode) }),
    headers: readHeaderMappings(asRecord(ResponseParameters), 'gatewayresponse.header.'),
    ...readBody(ResponseTemplates, readResponseTemplate),
  }
}

function readBody(
  templates: unknown,
  readTemplate: (template: unknown) => string,
): { contentType: string; body: string } {
  const [only, ...others] = Object.entries(asRecord(templates))
  if (!only || others.length > 0) throw new Error('The gateway takes responses with one template only.')
  return { contentType: only[0], body: readTemplate(only[1]) }
}
