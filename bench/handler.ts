import { randomUUID } from 'node:crypto'
import type { APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { createHandler as createAuthorizer } from '../lambdas/authorizer/handler.ts'
import { createHandler as createCheckpoints } from '../lambdas/checkpoints/handler.ts'
import { createHandler as createInstances } from '../lambdas/instances/handler.ts'
import { type CheckpointStore, createCheckpointStore } from '../src/checkpoints/store.ts'
import { createKeyStore } from '../src/keys/store.ts'
import { startEngines } from '../test/support/engines.ts'
import { apiEvent, CONTEXT, measureHandler, multiValue } from './handler-time.ts'
import { atMost, type BenchResult, type Row } from './harness.ts'
import { RecordedAnswers } from './recorded-answers.ts'
import { sampleCheckpoint, sampleFiles } from './sample-checkpoints.ts'

const NOW = 1_760_000_000_000
const OWNER = 'bench-owner'

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
      checkpoints(apiEvent({ path: `/sandbox/checkpoints/v1${path}`, body }), CONTEXT)
    const small: Record<string, () => Promise<unknown>> = {
      authorizer: () => authorizer(authorizerEvent(key)),
      'instances/get': () => instances(apiEvent({ path: '/sandbox/instances/v1/get', body: { key: 'none' } }), CONTEXT),
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
    for (const [name, run] of Object.entries({ ...small, ...large }))
      rows.push(await measureHandler(name, answers, run))
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
