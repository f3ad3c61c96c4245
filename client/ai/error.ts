import { SandkeepHttpError } from '../errors.ts'

/**
 * A request about a file was refused. `status` is the HTTP status: 400 or 413 for what was not even sent, 503 with the
 * code `network_error` when no answer came (`cause` tells why).
 */
export class SandboxFileError extends SandkeepHttpError {
  // By itself, because bundlers rename classes.
  override readonly name = 'SandboxFileError'
}
