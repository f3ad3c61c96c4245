import { PayloadTooLargeError } from '../src/errors.ts'
import { stringifyJson } from '../src/json.ts'
import { INLINE_LIMIT_BYTES, STAGED_LIMIT_BYTES } from '../src/limits.ts'
import { errorFromAnswer, errorFromStorage, SandkeepHttpError } from './errors.ts'
import { type BytesAnswer, exchange, exchangeBytes, type HttpAnswer, type HttpRequest, open } from './exchange.ts'
import { type JsonBody, jsonBody, type LargeBody } from './json-body.ts'
import type { Settings } from './options.ts'
import { withRetries } from './retry.ts'
import { type PresignedJson, putPresigned } from './storage.ts'

export interface CallOptions {
  method?: 'GET' | 'POST'
  /** Default true: what a lost answer hides may be asked for again. */
  repeatable?: boolean
  /** The path at which bodies over the inline limit may be uploaded before. */
  uploads?: string
}

/** A request of the API; credentials, tenant and project are added. */
export type ApiRequest = Pick<HttpRequest, 'method' | 'body'> & Partial<Pick<HttpRequest, 'headers'>>

/** Calls of the API: JSON in and out, over S3 where they are large, repeated where that helps. */
export class Transport {
  readonly settings: Settings

  constructor(settings: Settings) {
    this.settings = settings
  }

  /**
   * Calls a route whose answer is an object that has the field `expected`.
   * @throws the contract's errors, SandkeepHttpError, SandkeepNetworkError, PayloadTooLargeError
   */
  async call<Answer extends object>(
    path: string,
    body: object,
    expected: keyof Answer & string,
    options: CallOptions = {},
  ): Promise<Answer> {
    return this.read(await this.#sendJson(path, body, options), expected)
  }

  /** Calls a route that answers without a body. @throws as `call` */
  async run(path: string, body: object, options: CallOptions = {}): Promise<void> {
    await this.#sendJson(path, body, options)
  }

  /** One request of the API as it is told, and its whole answer. @throws as `call` */
  async send(
    path: string,
    { headers = {}, ...request }: ApiRequest,
    { repeatable = true }: Pick<CallOptions, 'repeatable'> = {},
  ): Promise<HttpAnswer> {
    const url = this.settings.url + path
    return withRetries(this.settings, { repeatable }, async () => {
      const sent = { ...request, url, headers: { ...(await this.settings.headers()), ...headers } }
      const answer = await exchange(this.settings, sent)
      if (answer.status === 303) return this.#follow(answer)
      if (answer.status < 200 || answer.status >= 300) {
        throw errorFromAnswer(answer.status, answer.headers, answer.text, url)
      }
      return answer
    })
  }

  /** The object that an answer holds, which has the field `expected`. @throws SandkeepHttpError for any other answer */
  read<Answer extends object>({ status, text }: HttpAnswer, expected: keyof Answer & string): Answer {
    const answer = parseObject(text)
    if (answer && Object.hasOwn(answer, expected)) return answer as Answer
    throw new SandkeepHttpError(status, 'invalid_answer', `${this.settings.url} does not answer as this API does.`)
  }

  /** A GET of bytes: the answer 200 with them, or the redirect 307 to the storage with its own body. @throws as `send` */
  async download(path: string): Promise<BytesAnswer> {
    const url = this.settings.url + path
    return withRetries(this.settings, { repeatable: true }, async () => {
      const headers = await this.settings.headers()
      const answer = await exchangeBytes(this.settings, { method: 'GET', url, headers })
      if (answer.status === 200 || answer.status === 307) return answer
      throw errorFromAnswer(answer.status, answer.headers, new TextDecoder().decode(answer.bytes), url)
    })
  }

  /** A GET whose answer's body is still to be read. @throws as `send` */
  async open(path: string): Promise<Response> {
    const url = this.settings.url + path
    return withRetries(this.settings, { repeatable: true }, async () => {
      const response = await open(this.settings, { method: 'GET', url, headers: await this.settings.headers() })
      if (response.status === 200) return response
      throw errorFromAnswer(response.status, response.headers, await response.text(), url)
    })
  }

  async #sendJson(path: string, body: object, options: CallOptions): Promise<HttpAnswer> {
    // Made before anything is awaited: what the caller changes from now on is not sent.
    const whole = jsonBody(body)
    const sent = await this.#inline(whole, options.uploads)
    const { method = 'POST' } = options
    const headers = { 'content-type': 'application/json' }
    return this.send(path, method === 'GET' ? { method } : { method, headers, body: sent }, options)
  }

  /** What is sent to the API itself. */
  async #inline(body: JsonBody, uploads: string | undefined): Promise<string | Blob> {
    if (typeof body === 'string') return body
    return body.blob.size <= INLINE_LIMIT_BYTES ? body.blob : this.#stage(body, uploads)
  }

  /** Uploads a large body, and makes the small one that names it. */
  async #stage({ blob, sha256 }: LargeBody, uploads: string | undefined): Promise<string> {
    const limit = uploads === undefined ? INLINE_LIMIT_BYTES : STAGED_LIMIT_BYTES
    if (uploads === undefined || blob.size > limit) {
      throw new PayloadTooLargeError(`The request has ${blob.size} bytes; it may have at most ${limit}.`)
    }
    const upload = await this.call<PresignedJson & { upload_id: string }>(
      uploads,
      { size_bytes: blob.size, sha256 },
      'upload_id',
    )
    await putPresigned(this.settings, upload, blob)
    return stringifyJson({ upload_id: upload.upload_id })
  }

  /** Our headers are for the API only: the storage gets none of them. */
  async #follow(redirect: HttpAnswer): Promise<HttpAnswer> {
    const url = redirect.headers.get('location') ?? ''
    if (!URL.canParse(url)) throw new SandkeepHttpError(303, 'invalid_answer', 'The redirect has no location.')
    const answer = await exchange(this.settings, { method: 'GET', url, headers: {} })
    if (answer.status !== 200) throw errorFromStorage(answer.status, answer.headers, answer.text, url)
    return answer
  }
}

function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    // The caller reports it: the answer is not of this API.
    return undefined
  }
}
