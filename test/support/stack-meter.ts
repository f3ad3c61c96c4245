import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb'
import { countingCapacity } from '../../lambdas/shared/capacity.ts'
import type { LocalStack } from '../../local/stack.ts'
import { onBody } from './answer-body.ts'

/** What a local stack was asked, in the terms of a bill. */
export interface StackUse {
  /** Requests to the API. */
  api: number
  readUnits: number
  writeUnits: number
  /** Requests to DynamoDB. */
  dynamodb: number
  /** PUT, COPY, POST and LIST, whoever sent them. */
  s3Writes: number
  /** GET and HEAD. */
  s3Reads: number
  s3Deletes: number
  /** Of the S3 requests, those that came from outside: PUTs, and all others. */
  uploads: number
  downloads: number
  /** Bodies that came from outside, to the API and to S3. */
  bytesIn: number
  /** Bodies of the answers to those. */
  bytesOut: number
}

const NOTHING: StackUse = {
  ...{ api: 0, readUnits: 0, writeUnits: 0, dynamodb: 0 },
  ...{ s3Writes: 0, s3Reads: 0, s3Deletes: 0, uploads: 0, downloads: 0, bytesIn: 0, bytesOut: 0 },
}

export interface MeteredStack {
  stack: LocalStack
  /** What was used since the last time. */
  take(): StackUse
  /** The same, and goes on counting. */
  soFar(): StackUse
  stop(): Promise<void>
}

interface RequestStart {
  request: IncomingMessage
  response: ServerResponse
  server: Server
}

/**
 * Starts a local stack of this process whose use is counted at its servers.
 * @param isOutside whether a request to S3 is one of the stack's users; default: if it is presigned
 */
export async function startMetered(
  start: () => Promise<LocalStack>,
  isOutside = (url: string) => url.includes('X-Amz-Signature='),
): Promise<MeteredStack> {
  // What begins within this asks DynamoDB what each request cost: the servers, and all that they begin.
  const stack = await countingCapacity(start)
  const portOf = (url: string) => Number(new URL(url).port)
  const [api, s3, dynamodb] = [stack.url, stack.s3Endpoint, stack.dynamodbEndpoint].map(portOf)
  let use = { ...NOTHING }

  const countBytes = (request: IncomingMessage, response: ServerResponse) => {
    use.bytesIn += Number(request.headers['content-length'] ?? 0)
    onBody(response, (chunk) => {
      use.bytesOut += chunk.length
    })
  }
  const onRequest = (message: unknown) => {
    const { request, response, server } = message as RequestStart
    const { port } = server.address() as AddressInfo
    if (port === api) {
      use.api += 1
      countBytes(request, response)
    }
    if (port === s3) {
      use[kindOf(request)] += 1
      if (!isOutside(request.url ?? '')) return
      use[request.method === 'PUT' ? 'uploads' : 'downloads'] += 1
      countBytes(request, response)
    }
    if (port === dynamodb) {
      use.dynamodb += 1
      const chunks: Uint8Array[] = []
      onBody(response, (chunk) => chunks.push(chunk))
      response.once('finish', () => {
        const isRead = /\.(?:Get|BatchGet|TransactGet|Query|Scan)/.test(String(request.headers['x-amz-target']))
        // A refused write does not tell; it costs one unit at least.
        const units = response.statusCode === 200 ? unitsOf(Buffer.concat(chunks).toString()) : 1
        use[isRead ? 'readUnits' : 'writeUnits'] += units
      })
    }
  }
  subscribe('http.server.request.start', onRequest)
  return {
    stack,
    take() {
      const taken = use
      use = { ...NOTHING }
      return taken
    },
    soFar: () => ({ ...use }),
    async stop() {
      await stack.stop()
      unsubscribe('http.server.request.start', onRequest)
    },
  }
}

function kindOf({ method, url = '' }: IncomingMessage): 's3Reads' | 's3Writes' | 's3Deletes' {
  // One that deletes many is charged as nothing too.
  if (method === 'DELETE' || (method === 'POST' && /[?&]delete(?:[=&]|$)/.test(url))) return 's3Deletes'
  const isList = /^\/[^/]+\/?(?:\?(?!location)|$)/.test(url)
  return (method === 'GET' || method === 'HEAD') && !isList ? 's3Reads' : 's3Writes'
}

function unitsOf(body: string): number {
  const { ConsumedCapacity: consumed } = JSON.parse(body) as {
    ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[]
  }
  if (consumed === undefined) throw new Error(`DynamoDB did not tell what this cost: ${body.slice(0, 200)}`)
  return [consumed].flat().reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0)
}
