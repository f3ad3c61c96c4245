import type { APIGatewayProxyEvent } from 'aws-lambda'
import type { Random } from './random.ts'

const nested = (depth: number): unknown => {
  let value: unknown = 0
  for (let index = 0; index < depth; index += 1) value = index % 2 ? { a: value } : [value]
  return value
}

/** Values that are likely to be wrong wherever they stand. Those of functions are made when they are used. */
const hostileValues: readonly (() => unknown)[] = [
  ...[null, true, '', ' ', 0, -0, -1, 1.5, 1e21, 1e300, 2 ** 53, -(2 ** 63), [], {}, [[]], [null]].map(
    (value) => () => value,
  ),
  ...['\0', 'a\0b', '\ud800', '\udc00x', '\u2028', '../..', '..', '.', '%2e%2e', '%00', '__proto__', 'constructor'].map(
    (value) => () => value,
  ),
  ...['\u202e', 'NaN', 'null', '*', '#', 'acme#web', '/', '\\', '\'"`', '<script>', '\r\nx: y'].map(
    (value) => () => value,
  ),
  () => 'x'.repeat(3_000),
  () => '€'.repeat(70_000),
  () => Array.from({ length: 1_001 }, (_, index) => index),
  () => nested(60),
  () => nested(990),
  () => nested(1_100),
  () => ({ length: 5, toJSON: 1, upload_id: 'x' }),
  () => JSON.parse('{"__proto__":{"role":"platform"},"constructor":{"prototype":{}}}'),
]

/** Puts something else somewhere into a value. */
export function mutateValue(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || random.chance(0.12)) return random.pick(hostileValues)()
  if (Array.isArray(value)) {
    const copy = [...value]
    const index = random.below(copy.length + 1)
    if (index < copy.length) copy[index] = mutateValue(copy[index], random)
    else copy.push(copy.length > 0 && random.chance(0.5) ? copy[0] : random.pick(hostileValues)())
    return copy
  }
  const copy: Record<string, unknown> = { ...value }
  const names = Object.keys(copy)
  const name = names.length > 0 ? random.pick(names) : 'a'
  const kind = random.below(6)
  if (kind === 0) delete copy[name]
  else if (kind === 1)
    copy[random.pick(['more', 'upload_id', 'toString', '', 'é', name.toUpperCase()])] = copy[name] ?? 1
  else if (kind === 2) Object.defineProperty(copy, '__proto__', { value: {}, enumerable: true, configurable: true })
  else copy[name] = mutateValue(copy[name], random)
  return copy
}

const textMutations: readonly ((text: string, random: Random) => string | Uint8Array)[] = [
  () => '',
  () => 'null',
  () => '[]',
  () => '"',
  () => ' \n',
  (text, random) => text.slice(0, random.below(text.length + 1)),
  (text) => `\ufeff${text}`,
  (text) => `${text}}`,
  (text) => text.replace('{', '{"a":1,"a":2,'),
  (text) => text.replace(/"(\w+)":([^,{}[\]]+)/, '"$1":$2,"$1":$2'),
  (text) => text.replace(/\d+/, (digits) => `${digits}e400`),
  (text) => text.replace(/\d+/, '9007199254740993'),
  (text) => text.replace(/"(\w)/, '"\\u0000$1'),
  (text) => text.replace(/[[{]/, (open) => '['.repeat(1_500) + open),
  (text) => `[${'[],'.repeat(50_000)}${text}]`,
  (text) => Buffer.from(text, 'utf16le'),
  (text) => Buffer.concat([Buffer.from(text.slice(0, 9)), Buffer.from([0xff, 0xc0, 0x80]), Buffer.from(text.slice(9))]),
  (text, random) => {
    const bytes = Buffer.from(text)
    if (bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256)
    return bytes
  },
]

/** Breaks the text of a body. */
export function mutateText(text: string, random: Random): string | Uint8Array {
  return random.pick(textMutations)(text, random)
}

const hostileTexts = [
  ...['', ' ', '.', '..', '%2e%2e', '%2F', '%', '%zz', '%00', '\0', '\n', 'a/b', '../../x', '?', '#', 'é', '%E2%82%AC'],
  ...[
    '__proto__',
    'constructor',
    '-1',
    '0',
    '1e1',
    '99999',
    'x'.repeat(129),
    'x'.repeat(3_000),
    '*',
    'acme#web',
    '\u202e',
  ],
]
const headerTexts = [
  ...hostileTexts,
  ...[
    'Bearer a.b.c',
    'Bearer skp_',
    `skp_0123456789abcdef_${'0'.repeat(64)}`,
    'bytes=0-1',
    'bytes=-1',
    'bytes=9-',
    'bytes=0-0,2-3',
    '"a"',
    'W/"a"',
    '*',
    'gzip',
    'text/plain',
    'application/json; charset=x',
  ],
  ...[
    'APPLICATION/JSON',
    'application/json-patch+json',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'a'.repeat(8_000),
  ],
]
const headerNames = [
  ...['content-type', 'content-encoding', 'X-Sandbox-Tenant-Id', 'X-Sandbox-Project-Id', 'X-Sandbox-User-Id', 'Range'],
  ...[
    'If-None-Match',
    'If-Range',
    'X-Sandbox-Scope',
    'anthropic-beta',
    'anthropic-version',
    'accept',
    'origin',
    'expect',
  ],
  ...[
    'x-api-key',
    '__proto__',
    'x-request-id',
    'content-length',
    'transfer-encoding',
    'authorization',
    'x-http-method-override',
  ],
]

/** What the authorizer may say of other callers. */
const callers: readonly Record<string, string>[] = [
  { role: 'viewer' },
  { role: 'writer' },
  { role: '' },
  { denied: 'true' },
  { unavailable: 'true' },
  { kind: 'x' },
  { kind: 'user', id: 'ann' },
  { rights: '[]' },
  { bindings: '[[{"tenant":"acme","project":"web"}]]', role: 'platform', rights: '[]' },
  { bindings: '[[{"tenant":"acme","project":"other"}]]' },
]

type Change = (event: APIGatewayProxyEvent, random: Random) => void

const setHeader = (event: APIGatewayProxyEvent, name: string, values: string[] | undefined): void => {
  for (const map of [event.headers, event.multiValueHeaders]) {
    for (const known of Object.keys(map ?? {})) if (known.toLowerCase() === name.toLowerCase()) delete map[known]
  }
  if (!values || !event.headers || !event.multiValueHeaders) return
  Object.defineProperty(event.headers, name, {
    value: values.at(-1),
    enumerable: true,
    configurable: true,
    writable: true,
  })
  Object.defineProperty(event.multiValueHeaders, name, {
    value: values,
    enumerable: true,
    configurable: true,
    writable: true,
  })
}

const changes: readonly Change[] = [
  (event, random) => setHeader(event, random.pick(headerNames), [random.pick(headerTexts)]),
  (event, random) => setHeader(event, random.pick(headerNames), [random.pick(headerTexts)]),
  (event, random) => setHeader(event, random.pick(headerNames), [random.pick(headerTexts), random.pick(headerTexts)]),
  (event, random) => setHeader(event, random.pick(headerNames), undefined),
  (event, random) => {
    const name = random.pick(Object.keys(event.multiValueHeaders ?? { a: [] }))
    const values = event.multiValueHeaders?.[name]
    setHeader(event, name, undefined)
    setHeader(event, random.chance(0.5) ? name.toUpperCase() : name.toLowerCase(), values)
  },
  ...Array.from(
    { length: 3 },
    (): Change => (event, random) => {
      const names = Object.keys(event.pathParameters ?? {})
      if (names.length > 0)
        event.pathParameters = { ...event.pathParameters, [random.pick(names)]: random.pick(hostileTexts) }
    },
  ),
  ...Array.from(
    { length: 2 },
    (): Change => (event, random) => {
      const name = random.pick(['limit', 'page', 'unknown', 'beta', 'redirect', 'status', 'task_id', '', '__proto__'])
      const values = random.chance(0.3) ? [] : [random.pick(hostileTexts), ...(random.chance(0.3) ? ['1'] : [])]
      event.multiValueQueryStringParameters = { ...event.multiValueQueryStringParameters, [name]: values }
      event.queryStringParameters = { ...event.queryStringParameters, [name]: values.at(-1) }
    },
  ),
  (event, random) => {
    const many = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [`q${index}`, [random.pick(hostileTexts)]]),
    )
    event.multiValueQueryStringParameters = many
  },
  (event) => {
    event.isBase64Encoded = !event.isBase64Encoded
  },
  (event) => {
    event.body = event.body && Buffer.from(event.body, 'base64').toString('utf8')
    event.isBase64Encoded = false
  },
  (event) => {
    event.body = '%%% no base64 %%%'
  },
  (event) => {
    event.body = null
  },
  (event) => {
    Reflect.deleteProperty(event, 'body')
  },
  (event, random) => {
    const maps = ['headers', 'multiValueHeaders', 'queryStringParameters', 'multiValueQueryStringParameters'] as const
    const map = random.pick([...maps, 'pathParameters'] as const)
    if (random.chance(0.5)) Object.assign(event, { [map]: null })
    else Reflect.deleteProperty(event, map)
  },
  (event) => Object.assign(event, { headers: null, multiValueHeaders: null }),
  ...Array.from(
    { length: 3 },
    (): Change => (event, random) => {
      const { authorizer } = event.requestContext
      const said = random.pick(callers)
      event.requestContext.authorizer = { ...authorizer, ...said }
    },
  ),
  (event) => {
    event.requestContext.authorizer = null
  },
  (event, random) => {
    event.httpMethod = random.pick(['PATCH', 'OPTIONS', 'GET', 'DELETE', 'get', '', '__proto__'])
  },
]

/** Changes something of an event. */
export function mutateEvent(event: APIGatewayProxyEvent, random: Random): void {
  random.pick(changes)(event, random)
}
