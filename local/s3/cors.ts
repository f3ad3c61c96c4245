import { S3Error } from './errors.ts'
import type { Reply } from './operations/context.ts'
import type { S3Request } from './request.ts'
import type { Catalog } from './storage/catalog.ts'
import { children, parseXml, text, texts, type XmlElement } from './xml.ts'

/** Answers a preflight request by the bucket's CORS rules. It is never signed. */
export function answerPreflight(catalog: Catalog, request: S3Request): Reply {
  const { origin } = request.headers
  const method = request.headers['access-control-request-method']
  if (origin === undefined || method === undefined) {
    throw new S3Error('InvalidRequest', 'Insufficient information. Origin request header needed.')
  }
  if (corsDocument(catalog, request.bucket) === undefined) {
    throw new S3Error('AccessForbidden', 'CORSResponse: CORS is not enabled for this bucket.')
  }
  const headers = (request.headers['access-control-request-headers'] ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '')
  const rule = findRule(catalog, request.bucket, origin, method, headers)
  if (!rule) throw new S3Error('AccessForbidden')
  const answer = allow(rule, origin)
  if (headers.length > 0) answer['access-control-allow-headers'] = headers.join(', ')
  const age = text(rule, 'MaxAgeSeconds')
  if (age !== undefined) answer['access-control-max-age'] = age
  return { status: 200, headers: answer }
}

/** The headers that let a page of another origin read the answer; none where no rule matches. */
export function corsHeaders(catalog: Catalog, request: S3Request): Record<string, string> {
  const { origin } = request.headers
  if (origin === undefined) return {}
  const rule = findRule(catalog, request.bucket, origin, request.method, [])
  return rule ? allow(rule, origin) : {}
}

function corsDocument(catalog: Catalog, bucket: string): string | undefined {
  return catalog.has(bucket) ? catalog.bucket(bucket).record.documents.cors : undefined
}

function findRule(
  catalog: Catalog,
  bucket: string,
  origin: string,
  method: string,
  headers: readonly string[],
): XmlElement | undefined {
  const document = corsDocument(catalog, bucket)
  if (document === undefined || ![origin, ...headers].every((value) => /^[ -~]*$/.test(value))) return undefined
  return children(parseXml(Buffer.from(document), 'CORSConfiguration'), 'CORSRule').find(
    (rule) =>
      texts(rule, 'AllowedMethod').includes(method) &&
      texts(rule, 'AllowedOrigin').some((pattern) => matches(pattern, origin)) &&
      headers.every((name) => texts(rule, 'AllowedHeader').some((pattern) => matches(pattern.toLowerCase(), name))),
  )
}

/** A pattern has at most one `*`, which stands for any text. */
function matches(pattern: string, value: string): boolean {
  const [start = '', end] = pattern.split('*')
  if (end === undefined) return pattern === value
  return value.length >= start.length + end.length && value.startsWith(start) && value.endsWith(end)
}

function allow(rule: XmlElement, origin: string): Record<string, string> {
  const any = texts(rule, 'AllowedOrigin').includes('*')
  const exposed = texts(rule, 'ExposeHeader')
  const headers: Record<string, string> = {
    'access-control-allow-origin': any ? '*' : origin,
    'access-control-allow-methods': texts(rule, 'AllowedMethod').join(', '),
    vary: 'Origin, Access-Control-Request-Headers, Access-Control-Request-Method',
  }
  if (!any) headers['access-control-allow-credentials'] = 'true'
  if (exposed.length > 0) headers['access-control-expose-headers'] = exposed.join(', ')
  return headers
}
