import { createHash, randomUUID } from 'node:crypto'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import { ROUTES_BY_SERVICE } from '../../../../lambdas/all-routes.ts'
import type { ApiHandler } from '../../../../lambdas/shared/api.ts'
import type { StreamHandler } from '../../../../lambdas/shared/stream.ts'
import { createHandlers, createStreamHandlers } from '../../../../local/handlers.ts'
import { blobObjectKey, stagingObjectKey } from '../../../../src/blobs/object-keys.ts'
import { startAnthropic } from '../../../ai/support/anthropic-endpoint.ts'
import { startEngines } from '../../../support/engines.ts'
import { streamed, whole } from '../answers.ts'
import { KnownValues } from './known-values.ts'
import { BLOB } from './schema-values.ts'
import { digestOf, WriteWatch } from './writes.ts'

export interface FuzzAnswer {
  status: number
  headers: Headers
  text: string
  /** What of the table and the bucket was written. */
  writes: string[]
}

/** The functions of the API on engines of their own. */
export interface FuzzServices {
  readonly known: KnownValues
  /** Milliseconds since the epoch, for the functions. */
  readonly clock: { now: number }
  /** @throws Error when there is no answer within the time, or one that cannot be sent */
  send(event: APIGatewayProxyEvent): Promise<FuzzAnswer>
  /** Whether the authorizer lets it through. @throws Error when it does neither that nor refuse */
  authorize(event: APIGatewayProxyEvent): Promise<boolean>
  /** Of all that is stored. */
  digest(): Promise<string>
  stop(): Promise<void>
}

const MAX_MS = 20_000
const METHOD_ARN = 'arn:aws:execute-api:us-east-1:000000000000:api/stage/POST/x'
const SCOPE = { tenant: 'acme', project: 'web' }

export async function startFuzzServices(): Promise<FuzzServices> {
  const [engines, endpoint] = await Promise.all([startEngines(), startAnthropic()])
  endpoint.replyElse({
    body: '{"id":"msg_1","type":"message","content":[]}',
    headers: { 'content-type': 'application/json' },
  })
  const clock = { now: Date.parse('2026-06-01T00:00:00Z') }
  const config = {
    ...engines,
    now: () => clock.now,
    anthropic: { baseUrl: endpoint.url, apiKey: async () => 'sk-ant' },
    corsOrigins: ['*'],
    startSweep: async () => undefined,
    requestBundles: async () => undefined,
  }
  const buffered = createHandlers(config)
  const streaming = createStreamHandlers(config)
  const authorizer = buffered.authorizer as (event: unknown) => Promise<unknown>
  const byResource = new Map(
    Object.entries(ROUTES_BY_SERVICE).flatMap(([name, routes]) => {
      const [one, other] = [buffered[name] as ApiHandler | undefined, streaming[name] as StreamHandler | undefined]
      const answer = other ? streamed(other) : whole(one as ApiHandler)
      return routes.map(({ path }) => [path, answer] as const)
    }),
  )
  const uploadId = randomUUID()
  const hash = createHash('sha256').update(BLOB).digest('hex')
  const first = {
    [stagingObjectKey(SCOPE, uploadId)]: '{"thread_id":"t"}',
    [blobObjectKey(SCOPE, `sandbox-files/sha256/${hash}`)]: BLOB,
    [blobObjectKey(SCOPE, `sandbox-artifacts/sha256/${hash}`)]: BLOB,
  }
  for (const [Key, Body] of Object.entries(first)) {
    await engines.s3.send(new PutObjectCommand({ Bucket: engines.bucketName, Key, Body }))
  }
  const watch = new WriteWatch(engines)
  return {
    known: new KnownValues({
      thread_id: ['t', 'u'],
      task_id: ['t1', 't2'],
      turn: [1, 2],
      size: [BLOB.length],
      upload_id: [uploadId],
    }),
    clock,
    digest: () => digestOf(engines),
    async authorize(event) {
      try {
        await authorizer({ ...structuredClone(event), methodArn: METHOD_ARN })
        return true
      } catch (error) {
        if (error instanceof Error && error.message === 'Unauthorized') return false
        throw error
      }
    },
    async send(event) {
      const answer = byResource.get(event.resource)
      if (!answer) throw new Error(`Nothing answers ${event.resource}.`)
      const late = Promise.withResolvers<never>()
      const timer = setTimeout(() => late.reject(new Error(`No answer within ${MAX_MS} ms.`)), MAX_MS)
      const asked = async () => {
        const response = await answer(structuredClone(event), new AbortController().signal)
        return { status: response.status, headers: response.headers, text: await response.text() }
      }
      try {
        return { ...(await Promise.race([asked(), late.promise])), writes: watch.take() }
      } finally {
        clearTimeout(timer)
      }
    },
    async stop() {
      await Promise.all([engines.stop(), endpoint.stop()])
    },
  }
}
