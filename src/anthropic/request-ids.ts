import { InvalidInputError } from '../errors.ts'
import { duplicateMembers, type JsonPath } from '../json/source.ts'

/** The ids in a request to the Messages API. */
export interface RequestIds {
  /** The container to go on with. */
  containerId: string | undefined
  /** Files that the request gives the model access to. */
  fileIds: Set<string>
  /** Files that earlier results in the conversation name. */
  echoedFileIds: Set<string>
  /** Whether code in the container waits for the result of a tool, or was paused. */
  pendingToolUse: boolean
  /** Whether files are put into the container. */
  attachesFiles: boolean
}

type JsonObject = Record<string, unknown>

/** More files than a conversation names; each hundred takes a read. */
const MAX_FILES = 1_000
/** Each is looked at, however deep it lies. */
const MAX_DUPLICATES = 100

/** Where ids may stand, or what is refused may. */
const CHECKED_FIELDS = new Set(['container', 'messages', 'system', 'thread'])

/**
 * Finds all ids in the text of a request. What it does not know it takes for an access, so that a place which the API
 * gives a meaning later is not left open.
 * @throws InvalidInputError naming the field that stands twice where ids are, or that is refused here
 */
export function readRequestIds(text: string, body: JsonObject): RequestIds {
  refuseDuplicates(text, body)
  // The messages of a thread stay with Anthropic, and whoever names one goes on with it.
  if (body.thread !== undefined && body.thread !== null) {
    throw new InvalidInputError('thread', 'thread: message threads are not offered here.')
  }
  const ids: RequestIds = {
    containerId: readContainer(body.container),
    fileIds: new Set(),
    echoedFileIds: new Set(),
    pendingToolUse: hasPendingToolUse(body.messages),
    attachesFiles: false,
  }
  const waiting: unknown[] = [body.messages, body.system]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (!isObject(value)) continue
    if (value.type === 'container_upload') ids.attachesFiles = true
    if ('file_id' in value && value.file_id !== null) {
      if (typeof value.file_id !== 'string') throw new InvalidInputError('file_id', 'file_id must be a text.')
      const target = isEcho(value.type) ? ids.echoedFileIds : ids.fileIds
      target.add(value.file_id)
      if (target.size > MAX_FILES) {
        throw new InvalidInputError('messages', `messages: at most ${MAX_FILES} files may be named.`)
      }
    }
    for (const [name, inner] of Object.entries(value)) {
      if (!(isToolUse(value) && name === 'input')) waiting.push(inner)
    }
  }
  return ids
}

function readContainer(container: unknown): string | undefined {
  const id = isObject(container) && !Array.isArray(container) ? container.id : container
  if (id === undefined || id === null) return undefined
  if (typeof id === 'string') return id
  throw new InvalidInputError('container', 'container must be an id, or an object with one.')
}

/** What a result of code in a container, or a citation, says of a file: it gives no access to it. */
function isEcho(type: unknown): boolean {
  return typeof type === 'string' && (type.endsWith('_execution_output') || type.endsWith('_location'))
}

/** The input of a tool is data: whatever stands in it is nothing to the API. */
function isToolUse({ type }: JsonObject): boolean {
  return typeof type === 'string' && type.endsWith('tool_use')
}

/** Readers differ in which one of two members with the same name they take. */
function refuseDuplicates(text: string, body: JsonObject): void {
  let duplicates = 0
  for (const path of duplicateMembers(text)) {
    duplicates += 1
    if (duplicates > MAX_DUPLICATES) throw new InvalidInputError('body', 'The body has too many names twice.')
    if (!CHECKED_FIELDS.has(String(path[0])) || isInToolInput(body, path)) continue
    const name = path.map(String).join('.')
    throw new InvalidInputError(name, `${name} stands twice.`)
  }
}

function isInToolInput(body: JsonObject, path: JsonPath): boolean {
  let value: unknown = body
  for (const name of path.slice(0, -1)) {
    if (!isObject(value)) return false
    if (name === 'input' && isToolUse(value)) return true
    value = value[name]
  }
  return false
}

/**
 * Whether the conversation ends in a call that code in the container made and waits for, or in a call of the container
 * that has no result yet.
 */
function hasPendingToolUse(messages: unknown): boolean {
  if (!Array.isArray(messages)) return false
  const last = messages.findLastIndex((message) => isObject(message) && message.role === 'assistant')
  const blocks = last < 0 ? [] : blocksOf(messages[last])
  const results = new Set(
    messages
      .slice(Math.max(last, 0))
      .flatMap(blocksOf)
      .map(({ tool_use_id }) => tool_use_id),
  )
  return blocks.some(({ type, id, caller }) => {
    if (type === 'server_tool_use') return !results.has(id)
    return type === 'tool_use' && isObject(caller) && caller.type !== 'direct'
  })
}

function blocksOf(message: unknown): JsonObject[] {
  return isObject(message) && Array.isArray(message.content) ? message.content.filter(isObject) : []
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null
}
