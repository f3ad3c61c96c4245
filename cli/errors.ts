/** The command was called in a way that cannot work: a wrong argument or a missing setting. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** A checkpoint or thread that is not there. */
export class MissingError extends Error {
  override name = 'MissingError'
}

/** The work cannot be done as asked; the message says why and what to do. */
export class RefusedError extends Error {
  override name = 'RefusedError'
  /** One line each, printed below the message. */
  readonly details: readonly string[]

  constructor(message: string, details: readonly string[] = []) {
    super(message)
    this.details = details
  }
}

/** A file does not hold still while it is read. */
export class FileChangingError extends RefusedError {
  override name = 'FileChangingError'
}

/** A signal asked the command to stop. */
export class InterruptedError extends Error {
  override name = 'InterruptedError'

  constructor() {
    super('Interrupted.')
  }
}

/** Ends the program with this exit code, and with the message of the cause if there is one. */
export class ExitCodeError extends Error {
  override name = 'ExitCodeError'
  readonly exitCode: number

  constructor(exitCode: number, options?: ErrorOptions) {
    super(`Exit code ${exitCode}.`, options)
    this.exitCode = exitCode
  }
}

/** The storage did not take or give a blob. */
export class TransferError extends Error {
  override name = 'TransferError'
  /** The HTTP status of the answer; undefined when none came. */
  readonly status: number | undefined

  constructor(message: string, status: number | undefined, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** Content came from the storage, whole and yet not what its key says. */
export class DamagedContentError extends Error {
  override name = 'DamagedContentError'
}

/** The code of a file system or network error (`ENOENT`, `ECONNREFUSED`), looked for along the causes too. */
export function errnoOf(error: unknown): string | undefined {
  for (let depth = 0, at = error; depth < 5 && at instanceof Error; depth += 1, at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code
    if (at instanceof AggregateError && at.errors.length > 0) return errnoOf(at.errors[0])
  }
  return undefined
}
