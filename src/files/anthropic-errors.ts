import { ConflictError, PayloadTooLargeError, UpstreamError } from '../errors.ts'

const retryAfterPattern = /^[A-Za-z0-9 ,:]{1,40}$/

/**
 * What a refusal of Anthropic's API is to our callers. Its words stay out of it: they may name ids, hosts and keys.
 * @param answer its body is read
 */
export async function errorOf(answer: Response): Promise<Error> {
  // The status says enough when the body breaks off.
  const { type, errorCode } = readError(await answer.text().catch(() => ''))
  const cause = new Error(
    `The provider answered ${answer.status} ${type} ${errorCode} (request ${answer.headers.get('request-id')}).`,
  )
  const options = { retryAfter: retryAfterOf(answer), cause }
  if (errorCode === 'file_not_downloadable') return notDownloadable()
  if (errorCode === 'storage_quota_exceeded') {
    return new UpstreamError(507, 'storage_full', 'The file storage is full. Delete files first.', { cause })
  }
  switch (answer.status) {
    case 413:
      return new PayloadTooLargeError('The file is larger than the provider of the files takes.', { field: 'file' })
    case 429:
      return new UpstreamError(429, 'too_many_requests', 'Too many requests about files. Try again later.', options)
    case 503:
    case 529:
      return new UpstreamError(503, 'upstream_busy', 'The provider of the files is busy. Try again later.', options)
    case 400:
      return new UpstreamError(400, 'file_refused', 'The provider of the files does not take this file.', { cause })
    default:
      return upstreamFailed(cause)
  }
}

export function upstreamFailed(cause: unknown): UpstreamError {
  return new UpstreamError(502, 'upstream_failed', 'The provider of the files failed to answer.', { cause })
}

export function notDownloadable(): ConflictError {
  return new ConflictError('file_not_downloadable', 'Only files that a sandbox made can be downloaded.')
}

/** What the answer's header says, unless it is something else than a time. */
function retryAfterOf({ headers }: Response): string | undefined {
  const value = headers.get('retry-after') ?? ''
  return retryAfterPattern.test(value) ? value : undefined
}

function readError(text: string): { type: string; errorCode: string } {
  try {
    const { error } = JSON.parse(text) as { error?: { type?: unknown; details?: { error_code?: unknown } | null } }
    return { type: String(error?.type), errorCode: String(error?.details?.error_code) }
  } catch {
    // A gateway in between may answer with a page.
    return { type: 'without JSON', errorCode: '' }
  }
}
