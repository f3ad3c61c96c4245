import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import busboy from 'busboy'
import type { AnthropicConnection } from '../../../src/anthropic/connection.ts'

export interface UpstreamFile {
  id: string
  filename: string
  mime_type: string
  bytes: Buffer
  created_at: string
  expires_at: string | null
  downloadable: boolean
}

/** What becomes of one request: `handle` answers as Anthropic would. */
export type UpstreamFault = (handle: () => Promise<void>, response: ServerResponse) => Promise<void> | void

/** Anthropic's Files API, as far as it is used: on 127.0.0.1, in memory, by a clock of the test. */
export interface Upstream {
  connection: AnthropicConnection
  files: Map<string, UpstreamFile>
  /** `METHOD /path?query` of each request. */
  requests: string[]
  headers: IncomingMessage['headers'][]
  /** Befall the next requests, one each. */
  faults: UpstreamFault[]
  clock: { now: number }
  /** As code of a hosted sandbox makes one. */
  output(filename: string, bytes: Uint8Array): string
  stop(): Promise<void>
}

export const UPSTREAM_KEY = 'sk-ant-secret-of-the-stack'

export async function startUpstream(): Promise<Upstream> {
  const files = new Map<string, UpstreamFile>()
  const requests: string[] = []
  const headers: IncomingMessage['headers'][] = []
  const faults: UpstreamFault[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    headers.push(request.headers)
    const fault = faults.shift()
    const handle = () => answer(files, upstream.clock, request, response)
    Promise.resolve(fault ? fault(handle, response) : handle()).catch((error: Error) => response.destroy(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const upstream: Upstream = {
    connection: {
      baseUrl: `http://127.0.0.1:${port}`,
      apiKey: async () => UPSTREAM_KEY,
    },
    files,
    requests,
    headers,
    faults,
    clock: { now: Date.now() },
    output(filename, bytes) {
      const file = fileOf(upstream.clock.now, filename, 'text/csv', Buffer.from(bytes), null)
      files.set(file.id, { ...file, downloadable: true })
      return file.id
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return upstream
}

function fileOf(now: number, filename: string, mimeType: string, bytes: Buffer, expires: number | null): UpstreamFile {
  return {
    id: `file_011C${randomBytes(10).toString('hex')}`,
    filename,
    mime_type: mimeType,
    bytes,
    created_at: new Date(now).toISOString(),
    expires_at: expires === null ? null : new Date(now + expires * 1_000).toISOString(),
    downloadable: false,
  }
}

async function answer(
  files: Map<string, UpstreamFile>,
  clock: { now: number },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x')
  if (request.headers['x-api-key'] !== UPSTREAM_KEY) return refuse(response, 401, 'authentication_error', 'invalid key')
  const [, id, content] = /^\/v1\/files(?:\/([^/]+))?(\/content)?$/.exec(pathname) ?? []
  if (id === undefined) {
    if (request.method !== 'POST') return list([...files.values()], searchParams, response)
    const form = await readForm(request)
    const file = fileOf(clock.now, form.filename, form.mimeType, form.bytes, form.expires)
    files.set(file.id, file)
    return send(response, 200, metadata(file))
  }
  const file = files.get(id)
  if (!file) return refuse(response, 404, 'not_found_error', `File \`${id}\` not found.`)
  if (request.method === 'DELETE') {
    files.delete(id)
    return send(response, 200, { id, type: 'file_deleted' })
  }
  if (content === undefined) return send(response, 200, metadata(file))
  if (!file.downloadable) {
    return refuse(response, 400, 'invalid_request_error', 'Not downloadable.', { error_code: 'file_not_downloadable' })
  }
  response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(file.bytes)
}

function list(files: UpstreamFile[], query: URLSearchParams, response: ServerResponse): void {
  const ids = query.getAll('ids[]')
  if (ids.length > 0) {
    const data = files.filter(({ id }) => ids.includes(id)).map(metadata)
    send(response, 200, { data, next_page: null })
    return
  }
  const newest = files.toSorted((left, right) => (left.created_at < right.created_at ? 1 : -1))
  const limit = Number(query.get('limit') ?? 20)
  const from = Number((query.get('page') ?? 'page_0').slice('page_'.length))
  const next = from + limit < newest.length ? `page_${from + limit}` : null
  send(response, 200, { data: newest.slice(from, from + limit).map(metadata), next_page: next })
}

function metadata({ bytes, ...file }: UpstreamFile) {
  return { type: 'file', ...file, size_bytes: bytes.length }
}

function send(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_upstream', ...headers })
    .end(JSON.stringify(body))
}

/** An error as Anthropic words it. */
export function refuse(
  response: ServerResponse,
  status: number,
  type: string,
  message: string,
  details?: { error_code: string },
  headers: Record<string, string> = {},
): void {
  send(response, status, { type: 'error', error: { type, message, details }, request_id: 'req_upstream' }, headers)
}

/** The request is carried out, and its answer is lost. */
export const loseUpstreamAnswer: UpstreamFault = async (handle, response) => {
  response.writeHead = () => response
  response.end = () => response
  await handle()
  response.destroy()
}

interface Form {
  filename: string
  mimeType: string
  bytes: Buffer
  expires: number | null
}

function readForm(request: IncomingMessage): Promise<Form> {
  return new Promise((resolve, reject) => {
    const form: Form = { filename: '', mimeType: '', bytes: Buffer.alloc(0), expires: null }
    const parser = busboy({ headers: request.headers, defParamCharset: 'utf8' })
    parser.on('field', (name, value) => {
      if (name === 'expires_in_seconds') form.expires = Number(value)
    })
    parser.on('file', (_name, stream, { filename, mimeType }) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => Object.assign(form, { filename, mimeType, bytes: Buffer.concat(chunks) }))
    })
    parser.on('close', () => resolve(form))
    parser.on('error', reject)
    request.pipe(parser)
  })
}
