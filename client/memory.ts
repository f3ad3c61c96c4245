import { INLINE_LIMIT_BYTES } from '../src/limits.ts'
import { checkArtifactName, checkContentType, checkTaskId, checkTurn } from '../src/memory/names.ts'
import { type ArtifactContent, blobOf, counted, sha256Of } from './artifact-content.ts'
import { blobBody } from './blob-body.ts'
import { turnBody } from './memory-checks.ts'
import {
  type ArtifactJson,
  readArtifact,
  readTask,
  readTurn,
  readTurns,
  type TaskJson,
  type TurnJson,
} from './memory-json.ts'
import type {
  Artifact,
  ArtifactBody,
  ArtifactId,
  PageOptions,
  PutArtifactInput,
  PutTurnInput,
  Task,
  TaskPage,
  TasksPage,
  Turn,
  TurnId,
  TurnOverview,
} from './memory-types.ts'
import { orNull } from './or-null.ts'
import { openPresigned, type PresignedJson, putPresigned } from './storage.ts'
import type { Transport } from './transport.ts'

const BASE = '/sandbox/memory/v1'
const OCTETS = 'application/octet-stream'

/**
 * The memory of the project: turns and artifacts of tasks. Every method throws InvalidInputError or
 * PayloadTooLargeError for what would be refused, before it is sent; SandkeepHttpError; SandkeepNetworkError.
 */
export class ClientMemory {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Writes a turn, or replaces its meta and summary; its artifacts stay.
   * @throws SandkeepHttpError `turn_exists` where it is to be written only if absent. A repeat after a lost answer finds
   *   the turn that it wrote itself.
   */
  async putTurn(input: PutTurnInput): Promise<Turn> {
    const path = turnPath(input)
    const answer = await this.#transport.send(path, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', ...(input.ifAbsent && { 'if-none-match': '*' }) },
      body: turnBody(input),
    })
    return readTurn(this.#transport.read<TurnJson>(answer, 'meta'), answer.text)
  }

  /** Null when there is no such turn, or its task has expired. */
  async getTurn(id: TurnId): Promise<Turn | null> {
    const path = turnPath(id)
    return orNull(async () => {
      const answer = await this.#transport.send(path, { method: 'GET' })
      return readTurn(this.#transport.read<TurnJson>(answer, 'meta'), answer.text)
    })
  }

  /** Writes an artifact, or replaces its bytes and type at once: in the request, or by way of S3 where it is large. */
  async putArtifact(input: PutArtifactInput): Promise<Artifact> {
    const path = artifactPath(input)
    const blob = await blobOf(input.content)
    const contentType = checkContentType(input.contentType ?? typeOf(input.content), 'contentType')
    const { onProgress } = input
    const told = onProgress ? counted(blob, (sentBytes) => onProgress({ sentBytes, totalBytes: blob.size })) : blob
    const record =
      blob.size <= INLINE_LIMIT_BYTES
        ? await this.#putDirectly(path, told, contentType)
        : await this.#upload(path, blob, told, contentType)
    return readArtifact(record)
  }

  /** Null when there is no such artifact. */
  async getArtifact(id: ArtifactId): Promise<ArtifactBody | null> {
    const answer = await orNull(() => this.#transport.download(artifactPath(id)))
    if (!answer) return null
    const { status, headers, bytes } = answer
    if (status === 307) return this.#getLarge(headers.get('location') ?? '', bytes)
    const body = blobBody(this.#transport.settings.url, bytes.length, new Blob([bytes]).stream())
    return {
      contentType: headers.get('content-type') ?? OCTETS,
      sizeBytes: bytes.length,
      sha256: (headers.get('etag') ?? '').replaceAll('"', ''),
      arrayBuffer: () => body.arrayBuffer(),
      stream: () => body.stream(),
    }
  }

  /** All tasks, ordered by id. */
  async *listTasks(): AsyncGenerator<Task> {
    let page: string | null | undefined
    do {
      const listed: TasksPage = await this.listTasksPage({ limit: 1_000, ...(page != null && { page }) })
      yield* listed.tasks
      page = listed.nextPage
    } while (page !== null)
  }

  async listTasksPage(options: PageOptions = {}): Promise<TasksPage> {
    const answer = await this.#transport.call<{ tasks: TaskJson[]; next_page: string | null }>(
      `${BASE}/tasks${query(options)}`,
      {},
      'tasks',
      { method: 'GET' },
    )
    return { tasks: answer.tasks.map(readTask), nextPage: answer.next_page }
  }

  /** A task with a page of its turns, in ascending order. Null when there is no such task, or it has expired. */
  async getTask(taskId: string, options: PageOptions = {}): Promise<TaskPage | null> {
    const path = `${taskPath(taskId)}${query(options)}`
    return orNull(async () => {
      const answer = await this.#transport.send(path, { method: 'GET' })
      const task = this.#transport.read<TaskJson & { turns: TurnJson[]; next_page: string | null }>(answer, 'turns')
      return { ...readTask(task), turns: readTurns(task, answer.text), nextPage: task.next_page }
    })
  }

  /** All turns of a task, in ascending order; none when there is no such task. */
  async *listTurns(taskId: string): AsyncGenerator<TurnOverview> {
    let page: string | null | undefined
    do {
      const found: TaskPage | null = await this.getTask(taskId, { limit: 1_000, ...(page != null && { page }) })
      yield* found?.turns ?? []
      page = found?.nextPage ?? null
    } while (page !== null)
  }

  /** Removes a task with all that belongs to it. One that is gone is no error. */
  async deleteTask(taskId: string): Promise<void> {
    await this.#transport.send(taskPath(taskId), { method: 'DELETE' })
  }

  /** The project's memory as one Markdown document. */
  async projectMd(): Promise<string> {
    return (await this.#transport.send(`${BASE}/project.md`, { method: 'GET' })).text
  }

  /** The same as a stream of UTF-8, which begins before the whole is there. */
  async projectMdStream(): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#transport.open(`${BASE}/project.md`)
    return response.body ?? new Blob([]).stream()
  }

  async #putDirectly(path: string, body: Blob, contentType: string): Promise<ArtifactJson> {
    const answer = await this.#transport.send(path, { method: 'PUT', headers: { 'content-type': contentType }, body })
    return this.#transport.read<ArtifactJson>(answer, 'sha256')
  }

  async #upload(path: string, blob: Blob, told: Blob, contentType: string): Promise<ArtifactJson> {
    const upload = await this.#transport.call<PresignedJson & { upload_id: string }>(
      `${path}/upload`,
      { size_bytes: blob.size, content_type: contentType, sha256: await sha256Of(blob) },
      'upload_id',
    )
    await putPresigned(this.#transport.settings, upload, told)
    return this.#transport.call<ArtifactJson>(`${path}/upload/${upload.upload_id}/complete`, {}, 'sha256')
  }

  /** Our headers are for the API only: the storage gets none of them. */
  async #getLarge(url: string, text: Uint8Array): Promise<ArtifactBody | null> {
    const record = readArtifact(JSON.parse(new TextDecoder().decode(text)))
    const response = await openPresigned(this.#transport.settings, { method: 'GET', url, headers: {}, expiresAt: 0 })
    if (!response) return null
    const { contentType, sizeBytes, sha256 } = record
    const body = blobBody(url, sizeBytes, response.body)
    return { contentType, sizeBytes, sha256, arrayBuffer: () => body.arrayBuffer(), stream: () => body.stream() }
  }
}

function typeOf(content: ArtifactContent): string {
  return (content instanceof Blob && content.type) || OCTETS
}

function taskPath(taskId: string): string {
  return `${BASE}/tasks/${checkTaskId(taskId, 'taskId')}`
}

function turnPath({ taskId, turn }: TurnId): string {
  return `${taskPath(taskId)}/turns/${checkTurn(turn)}`
}

function artifactPath(id: ArtifactId): string {
  return `${turnPath(id)}/artifacts/${checkArtifactName(id.name)}`
}

function query({ limit, page }: PageOptions): string {
  const parameters = new URLSearchParams({
    ...(limit !== undefined && { limit: String(limit) }),
    ...(page !== undefined && { page }),
  })
  return parameters.size === 0 ? '' : `?${parameters}`
}
