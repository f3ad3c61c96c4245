import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startLocalStack } from '../local/index.ts'

/** Runs a local stack for a benchmark in the parent process, and counts what comes from outside. */

/** Requests of the stack's users: presigned ones to S3, and all to the API; and those of its functions to DynamoDB. */
export interface RequestCounts {
  uploads: number
  downloads: number
  api: number
  dynamodb: number
}

/** What a process is told that begins one. */
export interface StackAddresses {
  url: string
  apiKey: string
  s3Endpoint: string
  bucketName: string
  credentials: { accessKeyId: string; secretAccessKey: string }
}

const none: RequestCounts = { uploads: 0, downloads: 0, api: 0, dynamodb: 0 }

const stack = await startLocalStack({ onError: (error) => console.error(error) })
const apiPort = Number(new URL(stack.url).port)
const s3Port = Number(new URL(stack.s3Endpoint).port)
const dynamodbPort = Number(new URL(stack.dynamodbEndpoint).port)
let counts = { ...none }

subscribe('http.server.request.start', (message) => {
  const { request, server } = message as { request: IncomingMessage; server: Server }
  const { port } = server.address() as AddressInfo
  if (port === apiPort) counts.api += 1
  if (port === dynamodbPort) counts.dynamodb += 1
  // The functions sign their own requests to S3 in a header.
  if (port !== s3Port || !request.url?.includes('X-Amz-Signature=')) return
  if (request.method === 'PUT') counts.uploads += 1
  else counts.downloads += 1
})

process.on('message', () => {
  process.send?.(counts)
  counts = { ...none }
})
process.on('disconnect', () => process.exit())
const { url, apiKey, s3Endpoint, bucketName, credentials } = stack
process.send?.({ url, apiKey, s3Endpoint, bucketName, credentials } satisfies StackAddresses)
