import { PayloadTooLargeError } from '../src/errors.ts'
import { stringifyJson } from '../src/json.ts'
import { INLINE_LIMIT_BYTES, STAGED_LIMIT_BYTES } from '../src/limits.ts'
import { errorFromAnswer, errorFromStorage, SandkeepHttpError } from './errors.ts'
import { exchange, type HttpAnswer } from './exchange.ts'
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
    const { status, text } = await this.#send(path, body, options)
    const answer = parseObject(text)
    if (answer && Object.hasOwn(answer, expected)) return answer as Answer
    throw new SandkeepHttpError(status, 'invalid_answer', `${this.settings.url} does not answer as this API does.`)
  }

  /** Calls a route that answers without a body. @throws as `call` */
  async run(path: string, body: object, options: CallOptions = {}): Promise<void> {
    await this.#send(path, body, options)
  }

  async #send(path: string, body: object, options: CallOptions): Promise<HttpAnswer> {
    // Made before anything is awaited: what the caller changes from now on is not sent.
    const whole = jsonBody(body)
    const sent = await this.#inline(whole, options.uploads)
    const { method = 'POST', repeatable = true } = options
    const url = this.settings.url + path
    return withRetries(this.settings, { repeatable }, async () => {
      const headers = await this.settings.headers()
      const answer = await exchange(this.settings, {
        method,
        url,
        headers: method === 'GET' ? headers : { ...headers, 'content-type': 'application/json' },
        ...(method !== 'GET' && { body: sent }),
      })
      if (answer.status === 303) return this.#follow(answer)
      if (answer.status < 200 || answer.status >= 300) {
        throw errorFromAnswer(answer.status, answer.headers, answer.text, url)
      }
      return answer
    })
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
