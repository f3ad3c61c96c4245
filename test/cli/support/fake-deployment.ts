import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from '../../../cli/context.ts'
import type { PresignedRequest } from '../../../src/blobs/types.ts'
import {
  SandboxCheckpointConflictError,
  SandboxCheckpointWriterConflictError,
  SandboxCheckpointWriterLostError,
} from '../../../src/checkpoints/errors.ts'
import type { SandboxCheckpoint, SandboxCheckpointStore } from '../../../src/checkpoints/types.ts'

/** A deployment in memory, just enough for the command line; its storage is a real HTTP server that checks hashes. */
export interface FakeDeployment {
  client: Client
  /** By blob key. */
  blobs: Map<string, Buffer>
  heads: Map<string, string>
  checkpoints: Map<string, SandboxCheckpoint>
  /** What was asked of the API and the storage: `acquire`, `get`, `uploads`, `PUT`, ... */
  requests: string[]
  renewals: number
  leases: Map<string, { ownerToken: string; fence: number }>
  /** Runs before an upload or download is answered; may answer itself and return true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>
  renewAfterMs: number
  stop(): Promise<void>
}

export async function startFakeDeployment(): Promise<FakeDeployment> {
  const server = createServer((request, response) => void answer(fake, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const presign = (method: 'GET' | 'PUT', key: string): PresignedRequest => ({
    method,
    url: `${origin}/${key}`,
    headers: method === 'PUT' ? { 'if-none-match': '*' } : {},
    expiresAt: Date.now() + 900_000,
  })
  const blobs = new Map<string, Buffer>()
  const fake: FakeDeployment = {
    blobs,
    heads: new Map(),
    checkpoints: new Map(),
    requests: [],
    renewals: 0,
    leases: new Map(),
    intercept: () => false,
    renewAfterMs: 45_000,
    client: {
      checkpoints: {} as SandboxCheckpointStore,
      blobs: {
        get: async () => Promise.reject(new Error('Push and pull go by presigned requests.')),
        put: async () => Promise.reject(new Error('Push and pull go by presigned requests.')),
        async prepareUploads(wanted) {
          fake.requests.push('uploads')
          return wanted.filter(({ key }) => !blobs.has(key)).map(({ key }) => ({ key, upload: presign('PUT', key) }))
        },
        async prepareDownloads(keys) {
          fake.requests.push('downloads')
          return keys.map((key) => {
            const size = blobs.get(key)?.length
            return size === undefined ? { key, download: null } : { key, size, download: presign('GET', key) }
          })
        },
      },
      keys: {} as Client['keys'],
      memory: {} as Client['memory'],
      sandboxes: {} as Client['sandboxes'],
      sweeps: {} as Client['sweeps'],
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  Object.assign(fake.client.checkpoints, storeOf(fake))
  return fake
}

async function answer(fake: FakeDeployment, request: IncomingMessage, response: ServerResponse): Promise<void> {
  fake.requests.push(request.method ?? '')
  if (await fake.intercept(request, response)) return
  const key = (request.url ?? '').slice(1)
  if (request.method === 'GET') {
    const blob = fake.blobs.get(key)
    response.writeHead(blob === undefined ? 404 : 200, { 'content-length': blob?.length ?? 0 }).end(blob)
    return
  }
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  } catch {
    // The other side went away in the middle: nothing is stored.
    return
  }
  const body = Buffer.concat(chunks)
  const matches = key.endsWith(createHash('sha256').update(body).digest('hex'))
  if (request.headers['content-length'] === undefined) response.writeHead(411).end()
  else if (fake.blobs.has(key)) response.writeHead(412).end()
  else if (!matches) response.writeHead(400).end('<Error><Code>BadDigest</Code></Error>')
  else {
    fake.blobs.set(key, body)
    response.writeHead(200).end()
  }
}

function storeOf(fake: FakeDeployment): Partial<SandboxCheckpointStore> {
  let fence = 0
  return {
    async get(id) {
      fake.requests.push('get')
      return structuredClone(fake.checkpoints.get(id) ?? null)
    },
    async getHead(threadId) {
      fake.requests.push('head')
      return fake.heads.get(threadId) ?? null
    },
    async acquireWriter(threadId) {
      fake.requests.push('acquire')
      if (fake.leases.has(threadId)) throw new SandboxCheckpointWriterConflictError('Another writer holds the thread.')
      fence += 1
      const held = { ownerToken: `owner-${fence}`, fence }
      fake.leases.set(threadId, held)
      const isCurrent = () => fake.leases.get(threadId) === held
      return {
        threadId,
        ...held,
        headId: fake.heads.get(threadId) ?? null,
        expiresAt: Date.now() + 120_000,
        renewAfterMs: fake.renewAfterMs,
        async renew() {
          if (!isCurrent()) throw new SandboxCheckpointWriterLostError('The lease is not current.')
          fake.renewals += 1
          return { expiresAt: Date.now() + 120_000 }
        },
        async release() {
          fake.requests.push('release')
          if (isCurrent()) fake.leases.delete(threadId)
        },
      }
    },
    async append({ checkpoint, expectedHeadId, writer }) {
      fake.requests.push('append')
      if (fake.leases.get(checkpoint.threadId)?.fence !== writer.fence) {
        throw new SandboxCheckpointWriterLostError('The lease is not current.')
      }
      if ((fake.heads.get(checkpoint.threadId) ?? null) !== expectedHeadId) {
        throw new SandboxCheckpointConflictError('The head is another one.')
      }
      fake.checkpoints.set(checkpoint.id, structuredClone(checkpoint))
      fake.heads.set(checkpoint.threadId, checkpoint.id)
      return { headId: checkpoint.id }
    },
  }
}
