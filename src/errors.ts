import { EXCHANGE_LIMIT } from './limits.ts'

/** Errors that are not of the checkpoint contract. Each carries the stable code and the HTTP status it becomes. */
export class SandkeepError extends Error {
  readonly code: string
  readonly status: number
  /** The field, header or parameter that broke the rule. */
  readonly field?: string

  constructor(status: number, code: string, message: string, options: { field?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.status = status
    this.code = code
    if (options.field !== undefined) this.field = options.field
  }
}

export class InvalidInputError extends SandkeepError {
  constructor(field: string, message: string, options: { cause?: unknown } = {}) {
    super(400, 'invalid_input', message, { ...options, field })
  }
}

/** The value of `WWW-Authenticate` that goes with an UnauthenticatedError. */
export const AUTHENTICATION_CHALLENGE = 'Bearer realm="sandkeep", ApiKey realm="sandkeep"'

/** No credentials, or such as are unknown, revoked, expired or malformed. */
export class UnauthenticatedError extends SandkeepError {
  constructor() {
    super(
      401,
      'unauthenticated',
      'A valid API key is required in the header X-Api-Key, or a valid token in "Authorization: Bearer".',
    )
  }
}

/** The same text whether the tenant exists or not. */
export class ForbiddenError extends SandkeepError {
  constructor(message = 'The credentials do not allow this request.') {
    super(403, 'forbidden', message)
  }
}

export class NotFoundError extends SandkeepError {
  constructor(message = 'Not found.') {
    super(404, 'not_found', message)
  }
}

export class ConflictError extends SandkeepError {
  constructor(code: string, message: string, options: { field?: string } = {}) {
    super(409, code, message, options)
  }
}

/** What the request is conditional on does not hold. */
export class PreconditionFailedError extends SandkeepError {
  constructor(code: string, message: string) {
    super(412, code, message)
  }
}

/** Blobs that a save refers to are not there, or are about to be removed: upload them, and save again. */
export class BlobsMissingError extends SandkeepError {
  /** The first 1,000 of them. */
  readonly keys: readonly string[]

  constructor(missing: readonly string[]) {
    super(409, 'blob_missing', `Upload ${missing.length} blobs first, and save again. The first is ${missing[0]}.`)
    this.keys = missing.slice(0, EXCHANGE_LIMIT)
  }
}

/** The thread changed while its list was paged through: start the list again. */
export class PageExpiredError extends SandkeepError {
  constructor() {
    super(409, 'page_expired', 'The thread changed since the first page was read. Start the list again.', {
      field: 'page',
    })
  }
}

export class BlobHashMismatchError extends SandkeepError {
  constructor(key: string, actual: string) {
    super(400, 'blob_hash_mismatch', `The bytes hash to ${actual}, which is not the hash in the key ${key}.`, {
      field: 'key',
    })
  }
}

export class PayloadTooLargeError extends SandkeepError {
  /** Where to send the payload instead, if there is such a place. */
  readonly upload?: string

  constructor(message: string, options: { upload?: string; field?: string } = {}) {
    super(413, 'payload_too_large', message, options.field === undefined ? {} : { field: options.field })
    if (options.upload !== undefined) this.upload = options.upload
  }
}

export class UnsupportedMediaTypeError extends SandkeepError {
  constructor(expected: string) {
    super(415, 'unsupported_media_type', `The content type must be ${expected}.`, { field: 'content-type' })
  }
}

/** The storage could not answer in time. Nothing is known to have changed; trying again is right. */
export class UnavailableError extends SandkeepError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(503, 'unavailable', message, options)
  }
}

/** The provider behind a service refused or failed; the message tells nothing of it. */
export class UpstreamError extends SandkeepError {
  /** Of the header `retry-after`, as the provider gave it. */
  readonly retryAfter?: string

  constructor(
    status: number,
    code: string,
    message: string,
    options: { retryAfter?: string | undefined; cause?: unknown } = {},
  ) {
    super(status, code, message, options)
    if (options.retryAfter !== undefined) this.retryAfter = options.retryAfter
  }
}
