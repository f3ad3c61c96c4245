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
