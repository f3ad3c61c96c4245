import type { MessagesRequest } from '../../src/anthropic/messages.ts'
import { InvalidInputError } from '../../src/errors.ts'
import { FILE_SCOPES, type FileScope } from '../../src/files/types.ts'
import { readBytes, readJsonText, readQuery } from '../shared/body-text.ts'
import { type ApiEvent, type ApiMiddleware, type ApiRequest, headerValues } from '../shared/request.ts'

const SCOPE_HEADER = 'X-Sandbox-Scope'

/** What the API reads of a request besides its body. */
const PASSED_HEADERS = ['anthropic-version', 'anthropic-beta', 'accept']

/**
 * Sets the body to a `MessagesRequest`, or to the query of a GET.
 * @throws UnsupportedMediaTypeError, PayloadTooLargeError, InvalidInputError naming the header or `body`
 */
export function requestContent(): ApiMiddleware {
  const requestContentBefore = ({ event }: ApiRequest): void => {
    event.call = { ...event.call, body: event.httpMethod === 'GET' ? readQuery(event) : messagesRequest(event) }
  }
  return { before: requestContentBefore }
}

function messagesRequest(event: ApiEvent): MessagesRequest {
  return {
    text: readJsonText(event),
    bytes: readBytes(event),
    beta: readQuery(event).beta === 'true',
    headers: passedHeaders(event),
    scope: scopeOf(event),
  }
}

function scopeOf(event: ApiEvent): FileScope {
  const [value, ...others] = headerValues(event, SCOPE_HEADER)
  const scope = FILE_SCOPES.find((known) => known === (value ?? 'user'))
  if (scope && others.length === 0) return scope
  throw new InvalidInputError(SCOPE_HEADER, `${SCOPE_HEADER} must be user or app, once.`)
}

function passedHeaders(event: ApiEvent): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const name of PASSED_HEADERS) {
    const value = headerValues(event, name).join(',')
    if (value === '') continue
    if (!/^[\x20-\x7e]+$/.test(value)) throw new InvalidInputError(name, `${name} must be printable ASCII.`)
    passed[name] = value
  }
  return passed
}
