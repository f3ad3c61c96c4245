import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import busboy from 'busboy'

export interface SeenRequest {
  method: string
  path: string
  headers: IncomingMessage['headers']
  bytes: Buffer
}

/** The files API and the storage behind it, with just enough behaviour for a client, on two origins. */
export interface FilesDeployment {
  url: string
  /** To the API. */
  seen: SeenRequest[]
  /** To the storage. */
  stored: SeenRequest[]
  /** Answered instead, in this order, whatever is asked; 0 breaks the connection. */
  failures: Array<{ status: number; body?: string; headers?: Record<string, string> }>
  stop(): Promise<void>
}

const file = (more: object) => ({ type: 'file', id: 'file_1', created_at: '2026-01-01T00:00:00.000Z', ...more })

export async function startFilesDeployment(): Promise<FilesDeployment> {
  const storage = await listen((seen, response) => {
    if (seen.method === 'GET') {
      response.setHeader('content-disposition', 'attachment; filename="big.bin"')
      response.setHeader('content-type', 'application/x-big')
      response.end('from the storage')
    } else {
      response.end()
    }
  })
  const failures: FilesDeployment['failures'] = []
  const uploads = new Map<string, Record<string, unknown>>()
  const api = await listen(async (seen, response) => {
    const failure = failures.shift()
    if (failure) {
      if (failure.status === 0) return response.destroy()
      response.writeHead(failure.status, { 'content-type': 'application/json', ...failure.headers })
      return response.end(failure.body ?? '{"error":{"code":"c","message":"m"}}')
    }
    const { pathname } = new URL(seen.path, 'http://x')
    const [, rest = ''] = /^\/api\/sandbox\/files\/v1(.*)$/.exec(pathname) ?? []
    const send = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    if (rest === '' && seen.method === 'POST') return send(201, file(await readForm(seen)))
    if (rest === '/uploads') {
      const description = JSON.parse(seen.bytes.toString())
      uploads.set('up 1', description)
      const headers = { 'content-length': String(description.size_bytes), 'content-type': description.mime_type }
      return send(201, { upload_id: 'up 1', method: 'PUT', url: `${storage.url}/key`, headers, expires_at: 'x' })
    }
    if (rest === '/uploads/up%201/complete') return send(201, file(uploads.get('up 1') ?? {}))
    if (rest === '/big/content' && seen.path.endsWith('?redirect=manual')) {
      return response.writeHead(200, { 'x-sandbox-location': `${storage.url}/big?sign=1` }).end('{}')
    }
    if (rest.endsWith('/content')) {
      response.writeHead(200, { 'content-type': 'text/csv', 'content-disposition': 'attachment; filename="a.csv"' })
      return response.end('a,b')
    }
    if (seen.method === 'DELETE') return response.writeHead(204).end()
    if (rest === '') return send(200, { data: [file({})], next_page: null })
    send(200, file({ filename: decodeURIComponent(rest.slice(1)) }))
  })
  return {
    url: `${api.url}/api`,
    seen: api.seen,
    stored: storage.seen,
    failures,
    stop: async () => {
      await Promise.all([api.stop(), storage.stop()])
    },
  }
}

async function listen(handle: (seen: SeenRequest, response: ServerResponse) => unknown) {
  const seen: SeenRequest[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const one = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      bytes: Buffer.concat(chunks),
    }
    seen.push(one)
    await handle(one, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** What a form said, with the file's bytes as their hash. */
function readForm({ headers, bytes }: SeenRequest): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const form: Record<string, unknown> = {}
    const parser = busboy({ headers, defParamCharset: 'utf8', preservePath: true })
    parser.on('field', (name, value) => {
      form[name] = value
    })
    parser.on('file', (_name, stream, { filename, mimeType }) => {
      const hash = createHash('sha256')
      let size = 0
      stream.on('data', (chunk: Buffer) => {
        hash.update(chunk)
        size += chunk.length
      })
      stream.on('end', () =>
        Object.assign(form, { filename, mime_type: mimeType, size_bytes: size, sha256: hash.digest('hex') }),
      )
    })
    parser.on('close', () => resolve(form))
    parser.on('error', reject)
    parser.end(bytes)
  })
}
