import { InvalidInputError } from '../../src/errors.ts'
import { checkContentType } from '../../src/memory/names.ts'
import { parseFixedJson, readBytes, readJsonText, readQuery } from '../shared/body-text.ts'
import { type ApiEvent, type ApiMiddleware, type ApiRequest, headerValues } from '../shared/request.ts'
import { type MemoryAction, UPLOAD_PATH } from './routes.ts'

/** What a PUT of a turn sends. */
export interface TurnContent {
  /** JSON. */
  text: string
  /** Whether a turn that is there is to stay as it is. */
  ifAbsent: boolean
}

/** What a PUT of an artifact sends. */
export interface ArtifactContent {
  bytes: Uint8Array
  contentType: string
}

/** The headers of a GET that say what of an artifact is wanted. */
export interface ArtifactConditions {
  query: Record<string, string>
  range: string[]
  ifRange: string[]
  ifNoneMatch: string[]
}

/**
 * Sets `call.body` to what the request brings, as its action takes it: text, bytes, fixed fields, query parameters.
 * @throws UnsupportedMediaTypeError, PayloadTooLargeError, InvalidInputError
 */
export function requestContent(): ApiMiddleware {
  const requestContentBefore = ({ event }: ApiRequest): void => {
    const action = event.call?.route?.action
    event.call = { ...event.call, body: readers[action as MemoryAction](event) }
  }
  return { before: requestContentBefore }
}

const nothing = (): undefined => undefined

const readers: Record<MemoryAction, (event: ApiEvent) => unknown> = {
  putTurn: (event) => ({ text: readJsonText(event), ifAbsent: readIfAbsent(event) }),
  getTurn: readQuery,
  putArtifact: readArtifact,
  getArtifact: readConditions,
  startUpload: (event) => parseFixedJson(readJsonText(event)),
  completeUpload: nothing,
  listTasks: readQuery,
  getTask: readQuery,
  deleteTask: nothing,
}

/** A turn has no entity tag: of the conditions there is only the one that it is not there at all. */
function readIfAbsent(event: ApiEvent): boolean {
  const conditions = headerValues(event, 'if-none-match')
  if (conditions.length === 0) return false
  if (conditions.length === 1 && conditions[0]?.trim() === '*') return true
  throw new InvalidInputError('if-none-match', 'The header If-None-Match of a turn must be *.')
}

function readArtifact(event: ApiEvent): ArtifactContent {
  return { contentType: readContentType(event), bytes: readBytes(event, uploadPath(event)) }
}

/** Where to announce the artifact that the path names. */
function uploadPath(event: ApiEvent): string {
  return UPLOAD_PATH.replace(/\{(\w+)\}/g, (_braced, parameter) => event.call?.params?.[parameter] ?? '')
}

/** What can stand in a header again, of the download's answer and of the object. */
function readContentType(event: ApiEvent): string {
  const [type = '', ...others] = headerValues(event, 'content-type')
  if (others.length > 0) throw new InvalidInputError('content-type', 'The header Content-Type must stand once.')
  return type === '' ? 'application/octet-stream' : checkContentType(type, 'content-type')
}

function readConditions(event: ApiEvent): ArtifactConditions {
  return {
    query: readQuery(event),
    range: headerValues(event, 'range'),
    ifRange: headerValues(event, 'if-range'),
    ifNoneMatch: headerValues(event, 'if-none-match'),
  }
}
