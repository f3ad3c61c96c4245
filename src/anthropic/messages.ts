import type { IncomingMessage } from 'node:http'
import { InvalidInputError, NotFoundError, UpstreamError } from '../errors.ts'
import type { FileScope } from '../files/types.ts'
import type { AnthropicConnection } from './connection.ts'
import { eventBatches } from './event-stream.ts'
import { passRefusal, type Refusal, refusesContainer } from './refusals.ts'
import type { KnownIds, Registry } from './registry.ts'
import { type RequestIds, readRequestIds } from './request-ids.ts'
import { type ResponseIds, readResponseIds } from './response-ids.ts'
import { postMessages, readWhole } from './upstream.ts'
import { withoutContainer } from './without-container.ts'

export interface MessagesRequest {
  /** The body, as text and as the bytes that it came in. */
  text: string
  bytes: Buffer
  beta: boolean
  headers: Readonly<Record<string, string>>
  scope: FileScope
}

export interface MessagesAnswer {
  status: number
  headers: Record<string, string>
  body: Buffer | AsyncIterable<Buffer>
}

export interface MessagesContext {
  connection: AnthropicConnection
  registry: Registry
  /** Told of a use of a container that could not be noted: the answer is none the worse. */
  onLeftover: (error: unknown) => void
}

/** Says that the container of the request was gone, and which one it was. */
export const REPLACED_HEADER = 'x-sandbox-container-replaced'

/**
 * Passes a request on to the Messages API when its user may use all containers and files in it, and passes the answer
 * back. Each id in the answer is recorded as the user's or the app's before its bytes come out.
 * @param signal ends the request to the API
 * @throws InvalidInputError, NotFoundError, UpstreamError, UnavailableError
 */
export async function passMessages(
  context: MessagesContext,
  request: MessagesRequest,
  signal: AbortSignal,
): Promise<MessagesAnswer> {
  const ids = readRequestIds(request.text, parseObject(request.text))
  const known = await lookUp(context.registry, ids, request.scope)
  checkAccess(ids, known, request.scope)

  const { connection } = context
  const { answer, replaced } = await send(connection, request, ids, signal)
  if (!isAnswer(answer)) return passRefusal(connection, answer)
  if ((answer.headers['content-encoding'] ?? 'identity') !== 'identity') {
    answer.destroy()
    throw new UpstreamError(502, 'upstream_failed', 'The model provider sent what cannot be read here.')
  }
  const used = replaced ? undefined : known.container
  const recorder = new Recorder(context, request.scope, known, used)
  const type = answer.headers['content-type'] ?? ''
  const headers = { 'content-type': type, ...(replaced !== undefined && { [REPLACED_HEADER]: replaced }) }
  const status = answer.statusCode ?? 502
  if (type.startsWith('text/event-stream')) {
    return { status, headers: { ...headers, 'cache-control': 'no-store' }, body: recorder.stream(answer, signal) }
  }
  const bytes = await readWhole(answer, signal)
  if (!isJson(bytes)) throw new UpstreamError(502, 'upstream_failed', 'The model provider did not answer with JSON.')
  await recorder.record([bytes.toString()])
  await recorder.settle()
  return { status, headers, body: bytes }
}

/** @throws InvalidInputError */
function parseObject(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch (cause) {
    throw new InvalidInputError('body', 'The body is not valid JSON.', { cause })
  }
  throw new InvalidInputError('body', 'The body must be a JSON object.')
}

async function lookUp(registry: Registry, ids: RequestIds, scope: FileScope): Promise<KnownIds> {
  const { containerId, fileIds, echoedFileIds } = ids
  const all = fileIds.union(echoedFileIds)
  if (containerId === undefined && all.size === 0) return { container: undefined, files: new Map() }
  return registry.lookUp({ containerId, fileIds: all, scope })
}

/** @throws NotFoundError, the same whatever it is that is unknown, another's, deleted or of the other scope */
function checkAccess({ containerId, fileIds, echoedFileIds }: RequestIds, known: KnownIds, scope: FileScope): void {
  const visible = (id: string) => {
    const file = known.files.get(id)
    return file?.live === true && (scope === 'user' || file.scope === 'app')
  }
  const allowed =
    (containerId === undefined || known.container !== undefined) &&
    [...fileIds].every(visible) &&
    [...echoedFileIds].every((id) => known.files.has(id))
  if (!allowed) throw new NotFoundError('The request names a container or a file that does not exist.')
}

/** Sends the request; once more without its container when that is gone and nothing depends on it. */
async function send(
  connection: AnthropicConnection,
  { text, bytes, ...request }: MessagesRequest,
  { containerId, pendingToolUse, attachesFiles }: RequestIds,
  signal: AbortSignal,
): Promise<{ answer: IncomingMessage | Refusal; replaced: string | undefined }> {
  const answer = await attempt(connection, { ...request, body: bytes }, signal)
  const replaceable = containerId !== undefined && !pendingToolUse && !attachesFiles
  if (isAnswer(answer) || !replaceable || !refusesContainer(answer)) return { answer, replaced: undefined }
  const body = Buffer.from(withoutContainer(text))
  const second = await attempt(connection, { ...request, body }, signal)
  return { answer: second, replaced: isAnswer(second) ? containerId : undefined }
}

async function attempt(
  connection: AnthropicConnection,
  input: Parameters<typeof postMessages>[1],
  signal: AbortSignal,
): Promise<IncomingMessage | Refusal> {
  const answer = await postMessages(connection, input, signal)
  const { statusCode: status = 502, headers } = answer
  if (status >= 200 && status < 300) return answer
  return { status, headers, body: await readWhole(answer, signal) }
}

function isAnswer(answer: IncomingMessage | Refusal): answer is IncomingMessage {
  return 'statusCode' in answer
}

/** Records the ids of one answer. */
class Recorder {
  readonly #context: MessagesContext
  readonly #scope: FileScope
  readonly #known: Set<string>
  readonly #settled: Promise<void>

  /** @param used the container that the request goes on with */
  constructor(context: MessagesContext, scope: FileScope, known: KnownIds, used: KnownIds['container']) {
    this.#context = context
    this.#scope = scope
    this.#known = new Set([...known.files.keys(), ...(used ? [used.id] : [])])
    // Beside the answer, which does not wait for it before its end.
    this.#settled = used ? context.registry.touch(used).catch(context.onLeftover) : Promise.resolve()
  }

  async *stream(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
    try {
      for await (const { bytes, data } of eventBatches(answer)) {
        await this.record(data)
        yield bytes
      }
    } catch (cause) {
      signal.throwIfAborted()
      throw cause
    } finally {
      answer.destroy()
    }
    await this.settle()
  }

  /** Returns when all ids in the texts, each the JSON of an answer or an event, are recorded. */
  async record(texts: readonly string[]): Promise<void> {
    const found = texts.map(readIds)
    const isNew = (id: string) => !this.#known.has(id)
    const containers = [...new Set(found.flatMap(({ containers }) => containers))].filter(isNew)
    const files = [...new Set(found.flatMap(({ files }) => files))].filter(isNew)
    const { registry } = this.#context
    await Promise.all([
      ...containers.map((id) => registry.addContainer(id, this.#scope)),
      ...files.map((id) => registry.addFile(id, this.#scope)),
    ])
    for (const id of [...containers, ...files]) this.#known.add(id)
  }

  settle(): Promise<void> {
    return this.#settled
  }
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString())
    return true
  } catch {
    // A page, perhaps, of something in between.
    return false
  }
}

function readIds(text: string): ResponseIds {
  try {
    return readResponseIds(JSON.parse(text))
  } catch {
    // No reader makes anything of it either.
    return { containers: [], files: [] }
  }
}
