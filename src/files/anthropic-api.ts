import * as z from 'zod'
import { ANTHROPIC_VERSION, type AnthropicConnection } from '../anthropic/connection.ts'
import { errorOf, upstreamFailed } from './anthropic-errors.ts'

/** A file as Anthropic's Files API tells it. Times are in milliseconds since the epoch. */
export interface AnthropicFile {
  id: string
  filename: string
  mimeType: string
  sizeBytes: number
  createdAt: number
  downloadable: boolean
  expiresAt: number | null
}

export interface AnthropicUpload {
  filename: string
  mimeType: string
  bytes: Uint8Array
  expiresInSeconds: number
}

/** Requests with `ids[]` name at most so many. */
export const IDS_LIMIT = 100

const LIST_LIMIT = 1_000
/** Before the gateway stops to wait for the function. */
const TIMEOUT_MS = 25_000

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))
const file = z
  .object({
    id: z.string().regex(/^[A-Za-z0-9_-]{1,200}$/),
    filename: z.string(),
    mime_type: z.string(),
    size_bytes: z.int().min(0),
    created_at: time,
    downloadable: z.boolean().optional(),
    expires_at: time.nullish(),
  })
  .transform(
    (answer): AnthropicFile => ({
      id: answer.id,
      filename: answer.filename,
      mimeType: answer.mime_type,
      sizeBytes: answer.size_bytes,
      createdAt: answer.created_at,
      downloadable: answer.downloadable ?? false,
      expiresAt: answer.expires_at ?? null,
    }),
  )
const page = z.object({ data: z.array(file), next_page: z.string().nullish() })

/**
 * Anthropic's Files API. Nothing is sent twice: whoever asks may try again.
 * @throws UpstreamError, PayloadTooLargeError, ConflictError from all its methods, as `errorOf` says
 */
export class AnthropicFilesApi {
  readonly #connection: AnthropicConnection

  constructor(connection: AnthropicConnection) {
    this.#connection = connection
  }

  async upload({ filename, mimeType, bytes, expiresInSeconds }: AnthropicUpload): Promise<AnthropicFile> {
    const body = new FormData()
    body.append('expires_in_seconds', String(expiresInSeconds))
    body.append('file', new File([new Uint8Array(bytes)], filename, { type: mimeType }))
    const answer = await this.#send('POST', '', { body })
    if (!answer.ok) throw await errorOf(answer)
    return parse(file, await textOf(answer))
  }

  /** null: there is no such file, or its time is over. */
  async get(id: string): Promise<AnthropicFile | null> {
    const answer = await this.#send('GET', `/${id}`)
    if (answer.status === 404) return nothing(answer)
    if (!answer.ok) throw await errorOf(answer)
    return parse(file, await textOf(answer))
  }

  /** Those that there are among up to 100 ids. */
  async getSome(ids: readonly string[]): Promise<AnthropicFile[]> {
    const query = new URLSearchParams(ids.map((id): [string, string] => ['ids[]', id]))
    return (await this.#page(query)).data
  }

  /** All files of the workspace, the newest first. */
  async *list(): AsyncGenerator<AnthropicFile[]> {
    let next: string | null | undefined
    do {
      const query = new URLSearchParams({ limit: String(LIST_LIMIT), ...(next && { page: next }) })
      const { data, next_page } = await this.#page(query)
      yield data
      next = next_page
    } while (next)
  }

  /** The bytes, as they come; null: there is no such file, or its time is over. */
  async content(id: string, signal?: AbortSignal): Promise<ReadableStream<Uint8Array> | null> {
    const answer = await this.#send('GET', `/${id}/content`, { signal })
    if (answer.status === 404) return nothing(answer)
    if (!answer.ok || !answer.body) throw await errorOf(answer)
    return answer.body
  }

  /** One that is not there is no error. */
  async delete(id: string): Promise<void> {
    const answer = await this.#send('DELETE', `/${id}`)
    if (!answer.ok && answer.status !== 404) throw await errorOf(answer)
    await answer.body?.cancel()
  }

  async #page(query: URLSearchParams) {
    const answer = await this.#send('GET', `?${query}`)
    if (!answer.ok) throw await errorOf(answer)
    return parse(page, await textOf(answer))
  }

  /** The time limit ends with the answer's head: a body may take longer. */
  async #send(
    method: string,
    path: string,
    { body, signal }: { body?: FormData; signal?: AbortSignal | undefined } = {},
  ): Promise<Response> {
    const { baseUrl, apiKey } = this.#connection
    const headers = { 'x-api-key': await apiKey(), 'anthropic-version': ANTHROPIC_VERSION }
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(new Error(`No answer within ${TIMEOUT_MS} ms.`)), TIMEOUT_MS)
    try {
      return await fetch(`${baseUrl}/v1/files${path}`, {
        method,
        headers,
        redirect: 'error',
        signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal,
        ...(body && { body }),
      })
    } catch (cause) {
      throw upstreamFailed(cause)
    } finally {
      clearTimeout(timer)
    }
  }
}

async function nothing(answer: Response): Promise<null> {
  await answer.body?.cancel()
  return null
}

async function textOf(answer: Response): Promise<string> {
  try {
    return await answer.text()
  } catch (cause) {
    throw upstreamFailed(cause)
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(text))
  } catch (cause) {
    throw upstreamFailed(cause)
  }
}
