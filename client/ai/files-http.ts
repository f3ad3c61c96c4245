import { InvalidInputError, SandkeepError } from '../../src/errors.ts'
import { errorFromAnswer, errorFromStorage, SandkeepHttpError, SandkeepNetworkError } from '../errors.ts'
import { withRetries } from '../retry.ts'
import type { Connection } from './connection.ts'
import { SandboxFileError } from './error.ts'

/** The longest that one request may take, besides the time for the bytes of a file. */
const TIMEOUT_MS = 60_000
/** Transfers may be as slow as this before they count as stuck. */
const BYTES_PER_MS = 64

export interface FileRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body?: string | Blob | FormData
  /** The bytes of a file that are in the body. */
  fileBytes?: number
}

/** Sends a request; the answer's body is still to be read. */
export type Send = (request: FileRequest, signal: AbortSignal) => Promise<Response>

/** Requests with a time limit, retries, and errors that are all of one class. Uses nothing but what browsers have. */
export class FilesHttp {
  readonly connection: Connection
  readonly #signal: AbortSignal | undefined
  readonly #send: Send

  constructor(connection: Connection, signal: AbortSignal | undefined) {
    this.connection = connection
    this.#signal = signal
    this.#send = ({ fileBytes: _, url, ...request }, signal) =>
      connection.fetch(url, { ...request, redirect: 'manual', signal })
  }

  /** The JSON of an answer of the API. @throws SandboxFileError; the signal's reason */
  async json<T>(request: FileRequest, { repeatable = true, send = this.#send } = {}): Promise<T> {
    const { response, text } = await this.#whole(request, repeatable, send, refuse)
    try {
      return JSON.parse(text)
    } catch (cause) {
      const host = new URL(request.url).host
      throw new SandboxFileError(502, 'invalid_answer', `${host} does not answer as this API does.`, {
        ...(response.headers.has('x-request-id') && { requestId: response.headers.get('x-request-id') ?? undefined }),
        cause,
      })
    }
  }

  /** A request to the API whose answer has no body. @throws as `json` */
  async run(request: FileRequest, { repeatable = true } = {}): Promise<void> {
    await this.#whole(request, repeatable, this.#send, refuse)
  }

  /** Puts bytes into the storage. An object that is there already is this one, with its answer lost. @throws as `json` */
  async store(request: FileRequest, send: Send = this.#send): Promise<void> {
    const refused = ({ status, headers }: Response, text: string, url: string): void => {
      if (status === 412) return
      const error = errorFromStorage(status, headers, text, url)
      // 409 comes while another upload of the same object runs: under the name of a status that is retried.
      throw status === 409 ? new SandkeepHttpError(503, error.code, error.message, { cause: error }) : error
    }
    await this.#whole(request, true, send, refused)
  }

  /** An answer of the API or the storage whose body streams. @throws as `json` */
  async open(request: FileRequest): Promise<Response> {
    return this.#attempts(request, true, async (signal) => {
      const response = await this.#send(request, signal)
      if (response.ok) return response
      throw refusalOf(response, await response.text(), request.url)
    })
  }

  #whole(
    request: FileRequest,
    repeatable: boolean,
    send: Send,
    refused: (response: Response, text: string, url: string) => void,
  ): Promise<{ response: Response; text: string }> {
    return this.#attempts(request, repeatable, async (signal) => {
      const response = await send(request, signal)
      const text = await response.text()
      if (!response.ok) refused(response, text, request.url)
      return { response, text }
    })
  }

  async #attempts<T>(
    { url, fileBytes = 0 }: FileRequest,
    repeatable: boolean,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const signal = this.#signal
    const limit = TIMEOUT_MS + Math.floor(fileBytes / BYTES_PER_MS)
    const settings = { ...this.connection, timeoutMs: limit, signal }
    try {
      return await withRetries(settings, { repeatable }, async () => {
        const timeout = new AbortController()
        const timer = setTimeout(() => timeout.abort(new Error(`nothing within ${limit} ms`)), limit)
        try {
          return await work(signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal)
        } catch (cause) {
          signal?.throwIfAborted()
          throw cause instanceof SandkeepError ? cause : new SandkeepNetworkError(url, cause)
        } finally {
          clearTimeout(timer)
        }
      })
    } catch (error) {
      signal?.throwIfAborted()
      throw asFileError(error)
    }
  }
}

function refuse(response: Response, text: string, url: string): void {
  throw refusalOf(response, text, url)
}

function refusalOf({ status, headers }: Response, text: string, url: string): Error {
  return text.trimStart().startsWith('<')
    ? errorFromStorage(status, headers, text, url)
    : errorFromAnswer(status, headers, text, url)
}

/** Any failure of a request about a file as the one class that callers are promised. */
export function asFileError(error: unknown): unknown {
  if (error instanceof SandboxFileError) return error
  if (error instanceof SandkeepHttpError) {
    const { status, code, message, field, requestId, retryAfter } = error
    return new SandboxFileError(status, code, message, {
      ...(field !== undefined && { field }),
      requestId,
      retryAfter,
      cause: error,
    })
  }
  if (error instanceof SandkeepNetworkError) {
    return new SandboxFileError(503, error.code, error.message, { cause: error })
  }
  if (error instanceof InvalidInputError) {
    return new SandboxFileError(400, error.code, error.message, { field: error.field ?? 'file' })
  }
  return error
}
