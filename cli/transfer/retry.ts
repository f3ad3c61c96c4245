import pRetry, { AbortError } from 'p-retry'
import type { PresignedRequest } from '../../src/blobs/types.ts'
import { DamagedContentError, errnoOf, TransferError } from '../errors.ts'

/** A presigned request this near to its end is asked for anew. */
const MARGIN_MS = 30_000

const NETWORK_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
])

/**
 * Runs a transfer, with a presigned request that has not run out, until it works: up to four tries more, one to eight
 * seconds apart. `renew` asks for a fresh request; null means that none is needed any more.
 */
export async function withRequest<T>(
  first: PresignedRequest,
  renew: () => Promise<PresignedRequest | null>,
  transfer: (request: PresignedRequest) => Promise<T>,
  settled: T,
  signal: AbortSignal,
): Promise<T> {
  let request: PresignedRequest | null = first
  let stale = first.expiresAt - Date.now() < MARGIN_MS
  return pRetry(
    async () => {
      if (stale) request = await renew()
      stale = false
      if (request === null) return settled
      try {
        return await transfer(request)
      } catch (error) {
        // 403 is what S3 answers to a request whose time is over.
        if (error instanceof TransferError && error.status === 403) stale = true
        if (isPassing(error)) throw error
        throw new AbortError(error instanceof Error ? error : String(error))
      }
    },
    { retries: 4, minTimeout: 500, randomize: true, maxTimeout: 8_000, signal },
  )
}

function isPassing(error: unknown): boolean {
  if (error instanceof TransferError) {
    const { status } = error
    return status === undefined || status === 403 || status === 409 || status === 429 || status >= 500
  }
  // It may have been changed on the way only.
  return error instanceof DamagedContentError || isNetworkError(error)
}

/** Whether the other side could not be reached or the connection broke. */
export function isNetworkError(error: unknown): boolean {
  const code = errnoOf(error)
  return code !== undefined && (NETWORK_CODES.has(code) || code === 'ENOTFOUND' || code.startsWith('UND_ERR_'))
}
