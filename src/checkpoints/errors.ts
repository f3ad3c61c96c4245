/**
 * The error classes of the checkpoint contract. Callers match on `code`, which never changes.
 */

export type SandboxCheckpointErrorCode =
  | 'SANDBOX_SNAPSHOT_STALE_HEAD'
  | 'SANDBOX_SNAPSHOT_PARENT_MISMATCH'
  | 'SANDBOX_SNAPSHOT_DUPLICATE_ID'
  | 'SANDBOX_SNAPSHOT_NOT_HEAD'
  | 'SANDBOX_SNAPSHOT_WRITER_CONFLICT'
  | 'SANDBOX_SNAPSHOT_WRITER_LOST'
  | 'SANDBOX_SNAPSHOT_INVALID_ID'
  | 'SANDBOX_SNAPSHOT_INVALID_ENTRY'
  | 'SANDBOX_SNAPSHOT_FORK_SOURCE_NOT_FOUND'
  | 'SANDBOX_SNAPSHOT_FORK_SOURCE_THREAD_MISMATCH'
  | 'SANDBOX_SNAPSHOT_FORK_DESTINATION_NOT_EMPTY'

/** Base of all errors that the contract names. A write that throws one has changed nothing. */
export class SandboxCheckpointError extends Error {
  readonly code: SandboxCheckpointErrorCode

  constructor(code: SandboxCheckpointErrorCode, message: string) {
    super(message)
    this.name = new.target.name
    this.code = code
  }
}

/** The head is not the expected one. */
export class SandboxCheckpointConflictError extends SandboxCheckpointError {
  constructor(message: string) {
    super('SANDBOX_SNAPSHOT_STALE_HEAD', message)
  }
}

/** `parentCheckpointId` is not the expected head. */
export class SandboxCheckpointParentMismatchError extends SandboxCheckpointError {
  constructor(message: string) {
    super('SANDBOX_SNAPSHOT_PARENT_MISMATCH', message)
  }
}

/** The id is used, in this thread or in another of the scope. */
export class SandboxCheckpointDuplicateIdError extends SandboxCheckpointError {
  constructor(message: string) {
    super('SANDBOX_SNAPSHOT_DUPLICATE_ID', message)
  }
}

/** The checkpoint to delete is not the head. */
export class SandboxCheckpointNotHeadError extends SandboxCheckpointError {
  constructor(message: string) {
    super('SANDBOX_SNAPSHOT_NOT_HEAD', message)
  }
}

/** Another writer holds the thread. */
export class SandboxCheckpointWriterConflictError extends SandboxCheckpointError {
  constructor(message: string) {
    super('SANDBOX_SNAPSHOT_WRITER_CONFLICT', message)
  }
}

/** The lease is not current: expired, released, taken over, or of another thread. */
export class SandboxCheckpointWriterLostError extends SandboxCheckpointError {
  constructor(message: string) {
    super('SANDBOX_SNAPSHOT_WRITER_LOST', message)
  }
}

/** An id is not a non-empty string of well-formed Unicode. */
export class SandboxCheckpointInvalidIdError extends SandboxCheckpointError {
  constructor(message: string) {
    super('SANDBOX_SNAPSHOT_INVALID_ID', message)
  }
}

/** `files`, `artifacts`, `createdAt`, `keep` or a value that JSON cannot carry. The message names the field. */
export class SandboxCheckpointInvalidEntryError extends SandboxCheckpointError {
  constructor(message: string) {
    super('SANDBOX_SNAPSHOT_INVALID_ENTRY', message)
  }
}

const classes = {
  SANDBOX_SNAPSHOT_STALE_HEAD: SandboxCheckpointConflictError,
  SANDBOX_SNAPSHOT_PARENT_MISMATCH: SandboxCheckpointParentMismatchError,
  SANDBOX_SNAPSHOT_DUPLICATE_ID: SandboxCheckpointDuplicateIdError,
  SANDBOX_SNAPSHOT_NOT_HEAD: SandboxCheckpointNotHeadError,
  SANDBOX_SNAPSHOT_WRITER_CONFLICT: SandboxCheckpointWriterConflictError,
  SANDBOX_SNAPSHOT_WRITER_LOST: SandboxCheckpointWriterLostError,
  SANDBOX_SNAPSHOT_INVALID_ID: SandboxCheckpointInvalidIdError,
  SANDBOX_SNAPSHOT_INVALID_ENTRY: SandboxCheckpointInvalidEntryError,
} as const

const baseCodes: ReadonlySet<string> = new Set([
  'SANDBOX_SNAPSHOT_FORK_SOURCE_NOT_FOUND',
  'SANDBOX_SNAPSHOT_FORK_SOURCE_THREAD_MISMATCH',
  'SANDBOX_SNAPSHOT_FORK_DESTINATION_NOT_EMPTY',
])

/** The error of the contract with this code, or undefined when the code is not one of the contract's. */
export function checkpointErrorFromCode(code: string, message: string): SandboxCheckpointError | undefined {
  if (Object.hasOwn(classes, code)) return new classes[code as keyof typeof classes](message)
  if (baseCodes.has(code)) return new SandboxCheckpointError(code as SandboxCheckpointErrorCode, message)
  return undefined
}
