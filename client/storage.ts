import type { PresignedRequest } from '../src/blobs/types.ts'
import { errorFromStorage, SandkeepHttpError } from './errors.ts'
import { exchange, open } from './exchange.ts'
import type { Connection } from './options.ts'
import { withRetries } from './retry.ts'

/** A presigned request as the API writes it. */
export interface PresignedJson {
  method: 'GET' | 'PUT'
  url: string
  headers: Record<string, string>
  expires_at: string
}

export function readPresigned({ method, url, headers, expires_at }: PresignedJson): PresignedRequest {
  return { method, url, headers, expiresAt: Date.parse(expires_at) }
}

/** Answers that the storage gives while another upload of the same object runs. */
const CONFLICT = 409
/** The object is there already: an upload of the same content, or this one with its answer lost. */
const EXISTS = 412

/** @throws SandkeepHttpError, SandkeepNetworkError */
export async function putPresigned(
  connection: Connection,
  request: Pick<PresignedRequest, 'method' | 'url' | 'headers'>,
  body: Uint8Array | Blob,
): Promise<void> {
  const { method, url } = request
  // `fetch` makes the length from the body, and refuses to be told.
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name !== 'content-length'))
  await withRetries(connection, { repeatable: true }, async () => {
    const answer = await exchange(connection, { method, url, headers, body })
    if (answer.status === 200 || answer.status === EXISTS) return
    const error = errorFromStorage(answer.status, answer.headers, answer.text, url)
    // Under the name of a status that is retried.
    throw answer.status === CONFLICT ? new SandkeepHttpError(503, error.code, error.message, { cause: error }) : error
  })
}

/** The answer to a presigned download, its body still to be read; null when the object is not there. */
export async function openPresigned(
  connection: Connection,
  { method, url, headers }: PresignedRequest,
): Promise<Response | null> {
  return withRetries(connection, { repeatable: true }, async () => {
    const response = await open(connection, { method, url, headers })
    if (response.status === 200) return response
    const text = await response.text()
    if (response.status === 404) return null
    throw errorFromStorage(response.status, response.headers, text, url)
  })
}
