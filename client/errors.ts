import { checkpointErrorFromCode } from '../src/checkpoints/errors.ts'
import { BlobsMissingError, SandkeepError } from '../src/errors.ts'

/** The API, or the storage behind a presigned request, refused. */
export class SandkeepHttpError extends SandkeepError {
  /** Quote it when you ask the operator: it is in the logs. */
  readonly requestId: string | undefined
  /** Seconds. */
  readonly retryAfter: number | undefined

  constructor(
    status: number,
    code: string,
    message: string,
    options: { field?: string; requestId?: string | undefined; retryAfter?: number | undefined; cause?: unknown } = {},
  ) {
    super(status, code, message, options)
    this.requestId = options.requestId
    this.retryAfter = options.retryAfter
  }
}

/** There was no answer: `cause` tells why, `sent` whether the request may have been carried out all the same. */
export class SandkeepNetworkError extends Error {
  override readonly name = 'SandkeepNetworkError'
  readonly code = 'network_error'
  readonly sent: boolean

  constructor(url: string, cause: unknown) {
    const code = causeCode(cause)
    super(`No answer from ${new URL(url).host} (${code ?? describe(cause)}). Check the url and that the server runs.`, {
      cause,
    })
    this.sent = code === undefined || !unsentCodes.has(code)
  }
}

// With these no connection came about.
const unsentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'])

/** `fetch` puts what went wrong into the cause of a TypeError. */
function causeCode(error: unknown): string | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && typeof current.code === 'string') return current.code
    const [first] = current instanceof AggregateError ? current.errors : []
    if (first !== undefined) return causeCode(first)
  }
  return undefined
}

function describe(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

/** The error that an answer of the API stands for: one of the contract's classes, BlobsMissingError, SandkeepHttpError. */
export function errorFromAnswer(status: number, headers: Headers, text: string, url: string): Error {
  const { code, message, field, keys } = readErrorBody(text)
  if (code === 'blob_missing' && keys) return new BlobsMissingError(keys)
  const known = code === undefined ? undefined : checkpointErrorFromCode(code, message ?? code)
  if (known) return known
  return new SandkeepHttpError(
    status,
    code ?? `http_${status}`,
    message ?? `${new URL(url).host} answered ${status}, not as this API does. Check the url.`,
    { ...(field !== undefined && { field }), ...answerHeaders(headers) },
  )
}

/** The error that an answer of S3 to a presigned request stands for. */
export function errorFromStorage(status: number, headers: Headers, text: string, url: string): SandkeepHttpError {
  const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? `http_${status}`
  return new SandkeepHttpError(status, code, `The storage at ${new URL(url).host} answered ${status} (${code}).`, {
    ...answerHeaders(headers),
  })
}

function answerHeaders(headers: Headers): { requestId: string | undefined; retryAfter: number | undefined } {
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN)
  return {
    requestId: headers.get('x-request-id') ?? headers.get('x-amz-request-id') ?? undefined,
    retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
  }
}

function readErrorBody(text: string): { code?: string; message?: string; field?: string; keys?: string[] } {
  try {
    const { error } = JSON.parse(text)
    const entries = Object.entries(error).filter(([, value]) => typeof value === 'string')
    return { ...Object.fromEntries(entries), ...(Array.isArray(error.keys) && { keys: error.keys.map(String) }) }
  } catch {
    // Not from our API: a proxy's page, an empty body.
    return {}
  }
}
