import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import busboy from 'busboy'

export interface StoredFile {
  id: string
  filename: string
  mime_type: string
  bytes: Buffer
  downloadable: boolean
  created_at: string
  expires_at: string | null
}

/** The Files API of the endpoint, in memory: its shapes, its errors, its order. */
export class AnthropicFiles {
  readonly stored: StoredFile[] = []

  /** As code in a container does. */
  add(filename: string, bytes: Uint8Array | string, more: Partial<StoredFile> = {}): StoredFile {
    const file: StoredFile = {
      id: `file_${randomUUID().replaceAll('-', '')}`,
      filename,
      mime_type: 'text/plain',
      bytes: Buffer.from(bytes),
      downloadable: true,
      created_at: new Date(1_790_000_000_000 + this.stored.length * 1_000).toISOString(),
      expires_at: null,
      ...more,
    }
    this.stored.push(file)
    return file
  }

  async handle(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x')
    const [, id, content] = /^\/v1\/files(?:\/([^/]+))?(\/content)?$/.exec(pathname) ?? []
    if (id === undefined) {
      if (request.method === 'POST') return this.#create(request, body, response)
      return this.#list(searchParams, response)
    }
    const file = this.stored.find((stored) => stored.id === decodeURIComponent(id))
    if (!file) return refuse(response, 404, 'not_found_error', `File \`${id}\` not found.`)
    if (request.method === 'DELETE') {
      this.stored.splice(this.stored.indexOf(file), 1)
      return send(response, 200, { id: file.id, type: 'file_deleted' })
    }
    if (content === undefined) return send(response, 200, metadata(file))
    if (!file.downloadable) {
      return refuse(response, 400, 'invalid_request_error', 'File is not downloadable.', 'file_not_downloadable')
    }
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(file.bytes)
  }

  async #create(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const { file, fields } = await readForm(request, body)
    if (!file) return refuse(response, 400, 'invalid_request_error', 'file: Field required')
    const seconds = Number(fields.expires_in_seconds)
    const stored = this.add(file.filename, file.bytes, {
      mime_type: file.mimeType,
      downloadable: false,
      expires_at: Number.isFinite(seconds) ? new Date(Date.now() + seconds * 1_000).toISOString() : null,
    })
    send(response, 200, metadata(stored))
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const limit = Number(query.get('limit') ?? 20)
    const start = Number((query.get('page') ?? 'page_0').slice('page_'.length))
    const newest = this.stored.toReversed()
    const more = start + limit < newest.length
    const data = newest.slice(start, start + limit).map(metadata)
    send(response, 200, { data, next_page: more ? `page_${start + limit}` : null })
  }
}

function metadata({ bytes, ...file }: StoredFile) {
  return { type: 'file', ...file, size_bytes: bytes.length }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_1' }).end(JSON.stringify(body))
}

function refuse(response: ServerResponse, status: number, type: string, message: string, code?: string): void {
  const details = code === undefined ? {} : { details: { error_code: code } }
  send(response, status, { type: 'error', error: { type, message, ...details }, request_id: 'req_1' })
}

interface Form {
  file: { filename: string; mimeType: string; bytes: Buffer } | undefined
  fields: Record<string, string>
}

function readForm(request: IncomingMessage, body: Buffer): Promise<Form> {
  return new Promise((resolve, reject) => {
    const form: Form = { file: undefined, fields: {} }
    const parser = busboy({ headers: request.headers, defParamCharset: 'utf8' })
    parser.on('field', (name, value) => {
      form.fields[name] = value
    })
    parser.on('file', (_name, stream, { filename = '', mimeType }) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        form.file = { filename, mimeType, bytes: Buffer.concat(chunks) }
      })
    })
    parser.on('close', () => resolve(form))
    parser.on('error', reject)
    parser.end(body)
  })
}
