import { randomUUID } from 'node:crypto'
import type { APIGatewayProxyEvent, APIGatewayRequestAuthorizerEvent, Context } from 'aws-lambda'
import { createHandler as createAuthorizer } from '../lambdas/authorizer/handler.ts'
import { createHandler as createCheckpoints } from '../lambdas/checkpoints/handler.ts'
import { createHandler as createInstances } from '../lambdas/instances/handler.ts'
import { writeCaller } from '../lambdas/shared/caller.ts'
import { type CheckpointStore, createCheckpointStore } from '../src/checkpoints/store.ts'
import { createKeyStore } from '../src/keys/store.ts'
import { startEngines } from '../test/support/engines.ts'
import { atMost, type BenchResult, median, type Row, timed } from './harness.ts'
import { RecordedAnswers } from './recorded-answers.ts'
import { sampleCheckpoint, sampleFiles } from './sample-checkpoints.ts'

const NOW = 1_760_000_000_000
const OWNER = 'bench-owner'
const WARMUP = 200
const REQUESTS = 1_000

/**
 * From a gateway's event to the answer, with SDK clients that answer at once what the engines answered before: what is
 * left is the middlewares, validation, the stores and the document client's own conversions. The bar is on requests of
 * one item; the others show how the time grows with what is sent.
 */
export async function handler(): Promise<BenchResult> {
  const engines = await startEngines()
  try {
    const config = { ...engines, now: () => NOW }
    const scope = { tenant: 'acme', project: 'demo' }
    const store = createCheckpointStore({ ...config, scope })
    const one = await fillThread(store, 'one-file', 1)
    const many = await fillThread(store, 'many-files', 1_000)
    const { key } = await createKeyStore(config).create({
      name: 'bench',
      role: 'writer',
      bindings: [{ tenant: scope.tenant, project: scope.project }],
    })
    const checkpoints = createCheckpoints({ ...config, startSweep: async () => undefined })
    const instances = createInstances(config)
    const authorizer = createAuthorizer(config)
    const call = (path: string, body: unknown) => () =>
      checkpoints(apiEvent(`/sandbox/checkpoints/v1${path}`, body), CONTEXT)
    const small: Record<string, () => Promise<unknown>> = {
      authorizer: () => authorizer(authorizerEvent(key)),
      'instances/get': () => instances(apiEvent('/sandbox/instances/v1/get', { key: 'none' }), CONTEXT),
      'checkpoints/head': call('/head', { thread_id: one.thread }),
      'checkpoints/get, 1 file': call('/get', { id: one.head }),
      'checkpoints/writers/renew': call('/writers/renew', { writer: one.writer }),
      'checkpoints/append, 1 file': call('/append', one.append),
    }
    const large: Record<string, () => Promise<unknown>> = {
      'checkpoints/get, 1,000 files': call('/get', { id: many.head }),
      'checkpoints/append, 1,000 files': call('/append', many.append),
    }

    const answers = new RecordedAnswers([engines.dynamodb, engines.s3])
    const rows: Row[] = []
    for (const [name, run] of Object.entries({ ...small, ...large })) rows.push(await measure(name, answers, run))
    answers.remove()
    return {
      rows,
      bars: rows
        .slice(0, Object.keys(small).length)
        .map((row) => atMost(`${row.request}, p50`, Number(row['p50 ms']), 1, 'ms')),
    }
  } finally {
    await engines.stop()
  }
}

/** A thread of one checkpoint, and what to send of it: each thread takes one more append. */
async function fillThread(store: CheckpointStore, thread: string, files: number) {
  const lease = await store.acquireWriter(thread, { ownerToken: OWNER })
  const checkpoint = sampleCheckpoint(thread, 1, null, sampleFiles(files))
  const { headId: head } = await store.append({ checkpoint, expectedHeadId: null, writer: lease })
  const writer = { thread_id: thread, owner_token: OWNER, fence: lease.fence }
  const append = {
    checkpoint: sampleCheckpoint(thread, 2, head, sampleFiles(files)),
    expected_head_id: head,
    writer,
    request_token: randomUUID(),
  }
  return { thread, head, writer, append }
}

async function measure(name: string, answers: RecordedAnswers, run: () => Promise<unknown>): Promise<Row> {
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

const CONTEXT = { awsRequestId: 'bench' } as Context

/** An event as a REST API with binary types makes it: the body in base64. */
function apiEvent(path: string, body: unknown): APIGatewayProxyEvent {
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
  }
  return {
    resource: path,
    path,
    httpMethod: 'POST',
    headers,
    multiValueHeaders: multiValue(headers),
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    pathParameters: null,
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
    body: Buffer.from(JSON.stringify(body)).toString('base64'),
    isBase64Encoded: true,
  }
}

function authorizerEvent(key: string): APIGatewayRequestAuthorizerEvent {
  const headers = { Host: 'abcdefghij.execute-api.us-east-1.amazonaws.com', 'X-Api-Key': key }
  const event: Partial<APIGatewayRequestAuthorizerEvent> = {
    type: 'REQUEST',
    methodArn: 'arn:aws:execute-api:us-east-1:123456789012:abcdefghij/prod/POST/sandbox/checkpoints/v1/get',
    headers,
    multiValueHeaders: multiValue(headers),
  }
  return event as APIGatewayRequestAuthorizerEvent
}

function multiValue(headers: Record<string, string>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
}
