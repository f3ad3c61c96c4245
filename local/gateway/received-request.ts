import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** A request as the gateway sees it before its body. */
export interface ReceivedRequest {
  requestId: string
  method: string
  httpVersion: string
  /** Percent-encoded, as received. */
  path: string
  query: Record<string, string[]>
  /** In the spelling of the client, with what the gateway adds. */
  headers: Record<string, string[]>
  contentType: string | undefined
  userAgent: string | null
  sourceIp: string
  /** Milliseconds since the epoch. */
  receivedAt: number
}

/** They are between the client and the gateway alone. */
const hopByHop = ['connection', 'expect', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade']

/** The gateway says these itself. */
const ownHeaders = ['x-amzn-trace-id', 'x-forwarded-for', 'x-forwarded-port', 'x-forwarded-proto']

const notPassedOn = new Set([...hopByHop, ...ownHeaders])

export function receiveRequest(message: IncomingMessage, receivedAt: number): ReceivedRequest {
  const target = message.url ?? '/'
  const queryStart = target.indexOf('?')
  const path = queryStart < 0 ? target : target.slice(0, queryStart)
  const sourceIp = message.socket.remoteAddress ?? ''
  return {
    requestId: randomUUID(),
    method: message.method ?? '',
    httpVersion: message.httpVersion,
    path,
    query: queryStart < 0 ? {} : readQuery(target.slice(queryStart + 1)),
    headers: {
      ...readHeaders(message.rawHeaders),
      'X-Amzn-Trace-Id': [`Root=1-${Math.floor(receivedAt / 1_000).toString(16)}-${randomBytes(12).toString('hex')}`],
      'X-Forwarded-For': [sourceIp],
      'X-Forwarded-Port': [String(message.socket.localPort ?? '')],
      'X-Forwarded-Proto': ['http'],
    },
    contentType: message.headers['content-type'],
    userAgent: message.headers['user-agent'] ?? null,
    sourceIp,
    receivedAt,
  }
}

/** The bytes of the request line and of the header values, which have a common limit. */
export function headerBytes(message: IncomingMessage): number {
  const line = `${message.method} ${message.url} HTTP/${message.httpVersion}`
  const values = message.rawHeaders.filter((_, index) => index % 2 === 1)
  return values.reduce((sum, value) => sum + value.length, line.length)
}

function readHeaders(rawHeaders: string[]): Record<string, string[]> {
  const bySpelling = new Map<string, { name: string; values: string[] }>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2)
    const key = name.toLowerCase()
    if (notPassedOn.has(key)) continue
    const known = bySpelling.get(key)
    if (known) known.values.push(value)
    else bySpelling.set(key, { name, values: [value] })
  }
  return Object.fromEntries([...bySpelling.values()].map(({ name, values }) => [name, values]))
}

function readQuery(text: string): Record<string, string[]> {
  const query = Map.groupBy(new URLSearchParams(text), ([name]) => name)
  return Object.fromEntries([...query].map(([name, pairs]) => [name, pairs.map(([, value]) => value)]))
}
