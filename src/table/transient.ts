import { setTimeout as sleep } from 'node:timers/promises'
import { UnavailableError } from '../errors.ts'

/** A failure that says nothing about the data: the same work, begun anew, may succeed. */
export class TransientError extends Error {
  override readonly name = 'TransientError'
}

const MAX_ATTEMPTS = 8
/** For transactions on items that many write to at once: ten seconds, at most, of waiting. */
export const CONTENDED_ATTEMPTS = 24
const FIRST_DELAY_MS = 20
const LAST_DELAY_MS = 1_000

const transientNames: ReadonlySet<string> = new Set([
  'TransientError',
  'ThrottlingException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'TransactionConflictException',
  'TransactionInProgressException',
  'InternalServerError',
  'ServiceUnavailable',
  'SlowDown',
  'InternalError',
  'TimeoutError',
  'RequestTimeout',
  'NetworkingError',
])

/**
 * Does the work, and does it anew after a transient failure, with full-jitter backoff. The work must read whatever it
 * decides on, each time, and must find out whether a write of an attempt before, whose answer was lost, has landed.
 * @throws UnavailableError when the last attempt fails so; other errors as they come.
 */
export async function retryTransient<T>(
  work: (attempt: number) => Promise<T>,
  attempts: number = MAX_ATTEMPTS,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      if (!isTransient(error)) throw error
      if (attempt === attempts) {
        throw new UnavailableError('The storage is busy or out of reach. Try again.', { cause: error })
      }
      await sleep(Math.random() * Math.min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt))
    }
  }
}

function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { name, code, $metadata } = error as { name: string; code?: unknown; $metadata?: { httpStatusCode?: number } }
  if (transientNames.has(name)) return true
  if (($metadata?.httpStatusCode ?? 0) >= 500 || $metadata?.httpStatusCode === 429) return true
  return typeof code === 'string' && /^(ECONN|EPIPE|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|UND_ERR)/.test(code)
}
