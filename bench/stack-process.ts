import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startLocalStack } from '../local/index.ts'

/** Runs a local stack for a benchmark in the parent process, and counts what comes from outside. */

/** Requests of the stack's users: presigned ones to S3, and all to the API. */
export interface RequestCounts {
  uploads: number
  downloads: number
  api: number
}

const stack = await startLocalStack({ onError: (error) => console.error(error) })
const apiPort = Number(new URL(stack.url).port)
const s3Port = Number(new URL(stack.s3Endpoint).port)
let counts: RequestCounts = { uploads: 0, downloads: 0, api: 0 }

subscribe('http.server.request.start', (message) => {
  const { request, server } = message as { request: IncomingMessage; server: Server }
  const { port } = server.address() as AddressInfo
  if (port === apiPort) counts.api += 1
  // The functions sign their own requests to S3 in a header.
  if (port !== s3Port || !request.url?.includes('X-Amz-Signature=')) return
  if (request.method === 'PUT') counts.uploads += 1
  else counts.downloads += 1
})

process.on('message', () => {
  process.send?.(counts)
  counts = { uploads: 0, downloads: 0, api: 0 }
})
process.on('disconnect', () => process.exit())
process.send?.({ url: stack.url, apiKey: stack.apiKey })
