import type { IncomingMessage } from 'node:http'
import { S3Error } from './errors.ts'

/** Bytes of UTF-8 that a key may have. */
const maxKeyBytes = 1024

/** One request, path-style, decoded once. */
export interface S3Request {
  readonly method: string
  /** The decoded path, which the signature covers. */
  readonly path: string
  /** Empty for the service itself. */
  readonly bucket: string
  /** Empty for a bucket. */
  readonly key: string
  readonly query: ReadonlyMap<string, string>
  /** By lower-case name; a repeated header is joined with commas. */
  readonly headers: Readonly<Record<string, string>>
  /** The body as it arrives. The first read tells a client that waits for it to go on. */
  readonly body: AsyncIterable<Buffer>
}

/** @throws S3Error InvalidURI, InvalidArgument or KeyTooLongError */
export function parseRequest(incoming: IncomingMessage, onBodyRead: () => void): S3Request {
  const url = incoming.url ?? ''
  const mark = url.indexOf('?')
  const path = decode(mark < 0 ? url : url.slice(0, mark))
  if (!path.startsWith('/')) throw new S3Error('InvalidURI')
  const slash = path.indexOf('/', 1)
  const key = slash < 0 ? '' : path.slice(slash + 1)
  assertKeyLength(key)
  return {
    method: incoming.method ?? '',
    path,
    bucket: slash < 0 ? path.slice(1) : path.slice(1, slash),
    key,
    query: parseQuery(mark < 0 ? '' : url.slice(mark + 1)),
    headers: readHeaders(incoming),
    body: {
      [Symbol.asyncIterator]: () => {
        onBodyRead()
        return incoming.iterator({ destroyOnReturn: false })
      },
    },
  }
}

/** @throws S3Error KeyTooLongError */
export function assertKeyLength(key: string): void {
  const size = key.length * 3 <= maxKeyBytes ? 0 : Buffer.byteLength(key)
  if (size > maxKeyBytes) {
    throw new S3Error('KeyTooLongError', undefined, { Size: String(size), MaxSizeAllowed: String(maxKeyBytes) })
  }
}

function parseQuery(query: string): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeQuery(equals < 0 ? pair : pair.slice(0, equals))
    if (parameters.has(name)) throw new S3Error('InvalidArgument', `Query parameter ${name} is repeated`)
    parameters.set(name, equals < 0 ? '' : decodeQuery(pair.slice(equals + 1)))
  }
  return parameters
}

function readHeaders(incoming: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    if (values) headers[name] = asUtf8(values.join(','))
  }
  return headers
}

/** Node reads header bytes as Latin-1; S3 takes them for UTF-8. */
function asUtf8(value: string): string {
  return /[^ -~]/.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value
}

function decodeQuery(text: string): string {
  return decode(text.replaceAll('+', ' '))
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new S3Error('InvalidURI')
  }
}

function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** Percent-encodes all but the slashes and the unreserved characters, as signatures and `encoding-type=url` want it. */
export function encodePath(path: string): string {
  return encodeStrictly(path).replaceAll('%2F', '/')
}
