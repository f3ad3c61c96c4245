import { validateHeaderName, validateHeaderValue } from 'node:http'
import { type Answer, Refusal } from './refusal.ts'
import { isRecord } from './template.ts'

const headFields = ['statusCode', 'headers', 'multiValueHeaders']
const answerFields = [...headFields, 'body', 'isBase64Encoded']

/** API Gateway sends its own, and renames those of the function. */
const remapped = new Set(['connection', 'content-length', 'date', 'server', 'www-authenticate'])

/**
 * The answer that a function's result stands for.
 * @throws Refusal as for a malformed result, or for base64 that is none
 */
export function proxyAnswer(result: unknown): Answer {
  const fields = readFields(result, answerFields)
  const { body, isBase64Encoded = false } = fields
  if (body !== undefined && body !== null && typeof body !== 'string') throw malformed()
  if (typeof isBase64Encoded !== 'boolean') throw malformed()
  return {
    ...readHead(fields),
    body: isBase64Encoded ? decodeBase64(body ?? '') : Buffer.from(body ?? ''),
  }
}

/**
 * The answer without a body that the head of a streamed answer stands for.
 * @throws Refusal as for a malformed result
 */
export function streamedAnswer(head: unknown): Omit<Answer, 'body'> {
  return readHead(readFields(head, headFields))
}

function readFields(result: unknown, known: readonly string[]): Record<string, unknown> {
  if (!isRecord(result) || Object.keys(result).some((field) => !known.includes(field))) throw malformed()
  return result
}

function readHead(fields: Record<string, unknown>): Omit<Answer, 'body'> {
  const status = Number(fields.statusCode ?? 200)
  if (!Number.isInteger(status) || status < 200 || status > 599) throw malformed()
  return { status, headers: readHeaders(fields) }
}

function malformed(cause?: unknown): Refusal {
  const error = new Error('The function gave a malformed proxy response.', { cause })
  return new Refusal('DEFAULT_5XX', { status: 502, cause: error })
}

function decodeBase64(text: string): Buffer {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new Refusal('API_CONFIGURATION_ERROR')
  return Buffer.from(text, 'base64')
}

/** A header in both maps has the values of the one with several. */
function readHeaders(result: Record<string, unknown>): [string, string][] {
  const single = recordOrEmpty(result.headers)
  const multiple = recordOrEmpty(result.multiValueHeaders)
  const overridden = new Set(Object.keys(multiple).map((name) => name.toLowerCase()))
  const pairs: [string, string][] = []
  for (const [name, value] of Object.entries(single)) {
    if (!overridden.has(name.toLowerCase())) pairs.push(sentHeader(name, value))
  }
  for (const [name, values] of Object.entries(multiple)) {
    if (!Array.isArray(values)) throw malformed()
    for (const value of values) pairs.push(sentHeader(name, value))
  }
  if (!pairs.some(([name]) => name.toLowerCase() === 'content-type'))
    pairs.unshift(['Content-Type', 'application/json'])
  return pairs.filter(([name]) => name.toLowerCase() !== 'transfer-encoding')
}

function recordOrEmpty(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return {}
  if (!isRecord(value)) throw malformed()
  return value
}

function sentHeader(name: string, value: unknown): [string, string] {
  if (typeof value === 'object') throw malformed()
  const text = String(value)
  try {
    validateHeaderName(name)
    validateHeaderValue(name, text)
  } catch (cause) {
    throw malformed(cause)
  }
  return [remapped.has(name.toLowerCase()) ? `x-amzn-Remapped-${name}` : name, text]
}
