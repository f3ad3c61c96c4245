import pRetry from 'p-retry'
import { SandkeepHttpError, SandkeepNetworkError } from './errors.ts'
import type { Connection } from './options.ts'

const RETRIES = 4
const MAX_RETRY_AFTER_SECONDS = 30
const retriedStatuses = new Set([429, 502, 503, 504])

export interface RetryOptions {
  /** Whether the request may be carried out twice without harm. */
  repeatable: boolean
}

/** Does the work, again after failures that pass, with backoff; rejects with the last failure. */
export function withRetries<T>(
  { signal, timeoutMs }: Connection,
  { repeatable }: RetryOptions,
  work: () => Promise<T>,
): Promise<T> {
  return pRetry(work, {
    retries: RETRIES,
    minTimeout: 200,
    maxTimeout: 5_000,
    randomize: true,
    maxRetryTime: timeoutMs,
    ...(signal && { signal }),
    shouldRetry: ({ error }) => passes(error, repeatable),
    onFailedAttempt: async ({ error, retriesLeft }) => {
      if (retriesLeft > 0 && passes(error, repeatable)) await waitAsAsked(error, signal)
    },
  })
}

function passes(error: unknown, repeatable: boolean): boolean {
  if (error instanceof SandkeepNetworkError) return repeatable || !error.sent
  if (error instanceof SandkeepHttpError) {
    // 429 is given before anything is done.
    return retriedStatuses.has(error.status) && (repeatable || error.status === 429)
  }
  return false
}

/** Ends early when the caller ends it all, which the retries then see for themselves. */
async function waitAsAsked(error: unknown, signal: AbortSignal | undefined): Promise<void> {
  const seconds = error instanceof SandkeepHttpError ? (error.retryAfter ?? 0) : 0
  if (seconds <= 0) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, Math.min(seconds, MAX_RETRY_AFTER_SECONDS) * 1000)
  const end = () => resolve()
  signal?.addEventListener('abort', end)
  await promise
  clearTimeout(timer)
  signal?.removeEventListener('abort', end)
}
