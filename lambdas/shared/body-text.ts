import { InvalidInputError, PayloadTooLargeError, UnsupportedMediaTypeError } from '../../src/errors.ts'
import { brokenJsonLimit } from '../../src/json/limits.ts'
import { duplicateMember } from '../../src/json/source.ts'
import { INLINE_LIMIT_BYTES, MAX_JSON_DEPTH, MAX_JSON_MARKS } from '../../src/limits.ts'
import { type ApiEvent, type ApiMiddleware, type ApiRequest, headerValues } from './request.ts'

const JSON_TYPE = 'application/json'
const jsonTypePattern = /^application\/json\s*(;|$)/i

export interface BodyTextOptions {
  /** The path to name in the refusal of a body over the inline limit, for services that take such bodies through S3. */
  upload?: string
  /** An empty body, of whatever type, stands for an empty object. */
  emptyIsObject?: boolean
}

/**
 * Makes the body a string, whatever way the gateway delivered its bytes. The body of a GET is ignored: the object of
 * its query parameters stands for it.
 * @throws UnsupportedMediaTypeError, PayloadTooLargeError, InvalidInputError (field `body`, or the query parameter)
 */
export function bodyText({ upload, emptyIsObject = false }: BodyTextOptions = {}): ApiMiddleware {
  const bodyTextBefore = ({ event }: ApiRequest): void => {
    if (event.httpMethod === 'GET') event.body = JSON.stringify(readQuery(event))
    else event.body = emptyIsObject && !event.body ? '{}' : readJsonText(event, upload)
    event.isBase64Encoded = false
  }
  return { before: bodyTextBefore }
}

/** The query parameters. @throws InvalidInputError naming one that stands twice */
export function readQuery(event: ApiEvent): Record<string, string> {
  const single = Object.entries(event.queryStringParameters ?? {}).map(
    ([name, value]) => [name, [value ?? '']] as const,
  )
  const parameters = event.multiValueQueryStringParameters
    ? Object.entries(event.multiValueQueryStringParameters)
    : single
  return Object.fromEntries(
    parameters.map(([name, [value = '', ...others] = []]) => {
      if (others.length > 0) throw new InvalidInputError(name, `The query parameter ${name} must stand once.`)
      return [name, value]
    }),
  )
}

/**
 * The body as text.
 * @param upload the path to name in the refusal of a body over the inline limit
 * @throws UnsupportedMediaTypeError, PayloadTooLargeError, InvalidInputError (field `body`)
 */
export function readJsonText(event: ApiEvent, upload?: string): string {
  const types = headerValues(event, 'content-type')
  if (types.length !== 1 || !jsonTypePattern.test(types[0] ?? '')) throw new UnsupportedMediaTypeError(JSON_TYPE)
  const bytes = readBytes(event, upload)
  if (bytes.length === 0) throw new InvalidInputError('body', 'The body is empty; it must be a JSON object.')
  return checkJsonLimits(decodeUtf8(bytes))
}

const limitRules = {
  depth: `The body may nest ${MAX_JSON_DEPTH} objects and arrays at most.`,
  marks: `The body may have ${MAX_JSON_MARKS} commas and opening brackets at most.`,
} as const

/** @returns the text. @throws InvalidInputError (field `body`) naming the rule, before anything is parsed */
export function checkJsonLimits(text: string): string {
  const broken = brokenJsonLimit(text)
  if (broken) throw new InvalidInputError('body', limitRules[broken])
  return text
}

/**
 * The bytes of the body, whatever way the gateway delivered them.
 * @param upload the path to name in the refusal of a body over the inline limit
 * @throws PayloadTooLargeError
 */
export function readBytes(event: ApiEvent, upload?: string): Buffer {
  const bytes = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8')
  if (bytes.length > INLINE_LIMIT_BYTES) {
    throw new PayloadTooLargeError(`The body may have at most ${INLINE_LIMIT_BYTES} bytes.`, {
      ...(upload && { upload }),
    })
  }
  return bytes
}

/** @throws InvalidInputError where a lenient decoder would put replacement characters. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new InvalidInputError('body', 'The body is not valid UTF-8.', { cause })
  }
}

/** @throws InvalidInputError (field `body`) */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new InvalidInputError('body', 'The body is not valid JSON.', { cause })
  }
}

/** The same for bodies of fixed fields, in which no name may stand twice. @throws InvalidInputError naming the field */
export function parseFixedJson(text: string): unknown {
  const value = parseJson(text)
  checkNamesOnce(text)
  return value
}

/** Of text that is JSON. @throws InvalidInputError naming a member of an object that stands twice */
export function checkNamesOnce(text: string): void {
  const field = duplicateMember(text)?.join('.')
  if (field !== undefined) throw new InvalidInputError(field, `${field} must stand once.`)
}
