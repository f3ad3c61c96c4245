import type { SandboxCheckpointError, SandboxCheckpointErrorCode } from '../../src/checkpoints/errors.ts'

/** The HTTP status of each error of the checkpoint contract. */
const statuses: Record<SandboxCheckpointErrorCode, number> = {
  SANDBOX_SNAPSHOT_STALE_HEAD: 409,
  SANDBOX_SNAPSHOT_PARENT_MISMATCH: 409,
  SANDBOX_SNAPSHOT_DUPLICATE_ID: 409,
  SANDBOX_SNAPSHOT_NOT_HEAD: 409,
  SANDBOX_SNAPSHOT_WRITER_CONFLICT: 409,
  SANDBOX_SNAPSHOT_WRITER_LOST: 409,
  SANDBOX_SNAPSHOT_INVALID_ID: 400,
  SANDBOX_SNAPSHOT_INVALID_ENTRY: 400,
  SANDBOX_SNAPSHOT_FORK_SOURCE_NOT_FOUND: 404,
  SANDBOX_SNAPSHOT_FORK_SOURCE_THREAD_MISMATCH: 409,
  SANDBOX_SNAPSHOT_FORK_DESTINATION_NOT_EMPTY: 409,
}

export function checkpointErrorStatus(error: SandboxCheckpointError): number {
  return statuses[error.code]
}

const transientNames = new Set([
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
  'TimeoutError',
  'TransientError',
])
const transientSystemCodes = /^(ECONN|EPIPE|ETIMEDOUT|EAI_AGAIN|ENOTFOUND)/

/** Whether an error of the AWS SDK that no store has dealt with, after the SDK's own retries, is one that passes. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { name, code, $metadata } = error as Error & { code?: unknown; $metadata?: { httpStatusCode?: number } }
  const status = $metadata?.httpStatusCode ?? 0
  return (
    transientNames.has(name) ||
    status === 429 ||
    status >= 500 ||
    (typeof code === 'string' && transientSystemCodes.test(code))
  )
}
