import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import { writeCaller } from '../lambdas/shared/caller.ts'
import { median, type Row, timed } from './harness.ts'
import type { RecordedAnswers } from './recorded-answers.ts'

const WARMUP = 200
const REQUESTS = 1_000

/**
 * Calls a handler once against the engines, and then again and again against what they answered: what is left is the
 * time of the code.
 */
export async function measureHandler(
  name: string,
  answers: RecordedAnswers,
  run: () => Promise<unknown>,
): Promise<Row> {
  answers.record()
  const answer = await run()
  const calls = answers.replay()
  const status = (answer as { statusCode?: number }).statusCode ?? 200
  if (status >= 300) throw new Error(`${name} was answered with ${status}: ${JSON.stringify(answer)}`)
  const times: number[] = []
  for (let turn = 0; turn < WARMUP + REQUESTS; turn++) {
    answers.rewind()
    const ms = await timed(run)
    if (turn >= WARMUP) times.push(ms)
  }
  const sorted = times.toSorted((left, right) => left - right)
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0
  return { request: name, 'SDK calls': calls, 'p50 ms': median(times), 'p99 ms': p99 }
}

export const CONTEXT = { awsRequestId: 'bench' } as Context

export interface ApiRequest {
  /** Default: POST. */
  method?: string
  path: string
  /** Of the route, where it is not the path itself. */
  resource?: string
  pathParameters?: Record<string, string>
  /** Bytes are sent as they are, all else as JSON; none: no body. */
  body?: unknown
  headers?: Record<string, string>
}

/** An event as a REST API with binary types makes it: the body in base64. */
export function apiEvent(request: ApiRequest): APIGatewayProxyEvent {
  const { method = 'POST', path, resource = path, pathParameters = null, body } = request
  const headers: Record<string, string> = {
    Accept: '*/*',
    'Content-Type': 'application/json',
    Host: 'abcdefghij.execute-api.us-east-1.amazonaws.com',
    'User-Agent': 'node',
    'X-Api-Key': 'secret',
    'X-Forwarded-For': '192.0.2.1',
    'X-Forwarded-Proto': 'https',
    'X-Sandbox-Project-Id': 'demo',
    'X-Sandbox-Tenant-Id': 'acme',
    ...request.headers,
  }
  return {
    resource,
    path,
    httpMethod: method,
    headers,
    multiValueHeaders: multiValue(headers),
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    pathParameters,
    stageVariables: null,
    requestContext: {
      requestId: 'bench',
      authorizer: writeCaller({
        kind: 'key',
        id: 'bench',
        role: 'writer',
        bindings: [[{ tenant: 'acme', project: 'demo' }]],
        rights: [],
        denied: false,
      }),
    } as unknown as APIGatewayProxyEvent['requestContext'],
    body: body === undefined ? null : bytesOf(body).toString('base64'),
    isBase64Encoded: body !== undefined,
  }
}

function bytesOf(body: unknown): Buffer {
  return body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(JSON.stringify(body))
}

export function multiValue(headers: Record<string, string>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
}
