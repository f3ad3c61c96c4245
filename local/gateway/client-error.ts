import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ApiModel } from './model.ts'
import { Refusal, refusalAnswer } from './refusal.ts'

const statusByCode: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Answers what is no HTTP request, which has no response object yet, and ends the connection. */
export function answerClientError(api: ApiModel, error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status = statusByCode[error.code ?? ''] ?? 400
  const { headers, body } = refusalAnswer(api, new Refusal('DEFAULT_4XX', { status, cause: error }), randomUUID())
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `content-length: ${body.length}`,
    'connection: close',
  ]
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]))
}
