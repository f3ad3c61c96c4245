import type {
  APIGatewayEventDefaultAuthorizerContext,
  APIGatewayProxyEvent,
  APIGatewayRequestAuthorizerEvent,
} from 'aws-lambda'
import type { ReceivedRequest } from './received-request.ts'
import type { Match } from './router.ts'

/** Stands where AWS names the account, the Region and the API. */
export const LOCAL_API = { accountId: '000000000000', region: 'us-east-1', apiId: 'local', stage: 'api' } as const

/** The API key of the usage plan that a request counts for. */
export interface UsageKey {
  id: string
  value: string
}

/** What a method's ARN is in policies, of the matched method. */
export function methodArn(request: ReceivedRequest): string {
  const { accountId, region, apiId, stage } = LOCAL_API
  return `arn:aws:execute-api:${region}:${accountId}:${apiId}/${stage}/${request.method}/${request.path.slice(1)}`
}

/** The event of a Lambda proxy integration. */
export function proxyEvent(
  request: ReceivedRequest,
  match: Match,
  authorizer: APIGatewayEventDefaultAuthorizerContext,
  body: Buffer,
  usageKey?: UsageKey,
): APIGatewayProxyEvent {
  return {
    resource: match.resource.path,
    path: request.path,
    httpMethod: request.method,
    headers: lastValues(request.headers),
    multiValueHeaders: request.headers,
    queryStringParameters: orNull(lastValues(request.query)),
    multiValueQueryStringParameters: orNull(request.query),
    pathParameters: orNull(match.pathParameters),
    stageVariables: null,
    requestContext: { ...requestContext(request, match, usageKey), authorizer },
    body: body.length === 0 ? null : body.toString('base64'),
    isBase64Encoded: body.length > 0,
  }
}

/** The event of a REQUEST authorizer: what is absent is empty in it, and not null. */
export function authorizerEvent(request: ReceivedRequest, match: Match): APIGatewayRequestAuthorizerEvent {
  return {
    type: 'REQUEST',
    methodArn: methodArn(request),
    resource: match.resource.path,
    path: request.path,
    httpMethod: request.method,
    headers: lastValues(request.headers),
    multiValueHeaders: request.headers,
    queryStringParameters: lastValues(request.query),
    multiValueQueryStringParameters: request.query,
    pathParameters: match.pathParameters,
    stageVariables: {},
    requestContext: { ...requestContext(request, match), authorizer: undefined },
  }
}

function requestContext(request: ReceivedRequest, match: Match, usageKey?: UsageKey) {
  const { accountId, apiId, stage } = LOCAL_API
  const host = request.headers.Host?.[0] ?? request.headers.host?.[0] ?? ''
  return {
    resourceId: match.resource.id,
    resourcePath: match.resource.path,
    httpMethod: request.method,
    extendedRequestId: request.requestId,
    requestTime: commonLogTime(request.receivedAt),
    path: request.path,
    accountId,
    protocol: `HTTP/${request.httpVersion}`,
    stage,
    domainPrefix: host.split('.')[0] ?? '',
    domainName: host,
    requestTimeEpoch: request.receivedAt,
    requestId: request.requestId,
    apiId,
    identity: {
      accessKey: null,
      accountId: null,
      apiKey: usageKey?.value ?? null,
      apiKeyId: usageKey?.id ?? null,
      caller: null,
      clientCert: null,
      cognitoAuthenticationProvider: null,
      cognitoAuthenticationType: null,
      cognitoIdentityId: null,
      cognitoIdentityPoolId: null,
      principalOrgId: null,
      sourceIp: request.sourceIp,
      user: null,
      userAgent: request.userAgent,
      userArn: null,
    },
  }
}

function lastValues(values: Record<string, string[]>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, all]) => [name, all.at(-1) ?? '']))
}

function orNull<T extends object>(record: T): T | null {
  return Object.keys(record).length === 0 ? null : record
}

/** Such as `30/Nov/2026:12:31:51 +0000`. */
function commonLogTime(epochMs: number): string {
  const [, day, month, year, time] = new Date(epochMs).toUTCString().split(' ')
  return `${day}/${month}/${year}:${time} +0000`
}
