import { SandboxFileError } from '../client/ai/error.ts'
import { SandkeepNetworkError } from '../client/index.ts'
import { SandboxCheckpointError } from '../src/checkpoints/errors.ts'
import { InvalidInputError, SandkeepError } from '../src/errors.ts'
import {
  DamagedContentError,
  ExitCodeError,
  errnoOf,
  InterruptedError,
  MissingError,
  RefusedError,
  TransferError,
  UsageError,
} from './errors.ts'
import { printable, printablePath } from './format.ts'
import { isNetworkError } from './transfer/retry.ts'

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  auth: 5,
  network: 6,
  /** Of `sandkeep run`, apart from the codes of commands; as `timeout`, shells and container tools have them. */
  unsaved: 123,
  timedOut: 124,
  notRun: 125,
  notExecutable: 126,
  commandNotFound: 127,
  /** And the number of the signal. */
  signal: 128,
  interrupted: 130,
} as const

export const EXIT_HELP = `Exit codes:
  0    done
  1    failed; the message says why
  2    wrong arguments or missing settings
  3    no such checkpoint, thread, task, file or key
  4    conflict: another writer holds the thread, or it changed meanwhile
  5    the API key or the token is missing rights or not valid
  6    the API or the storage cannot be reached
  130  interrupted
\`sandkeep run\` ends with the exit code of its command, and has further ones (see its --help).`

/** What a failure becomes for the caller: an exit code, one line that says what to do, and further lines. */
export interface Failure {
  exitCode: number
  message: string
  details: readonly string[]
}

/** The longest list of details that is printed in full. */
const MAX_DETAILS = 20

export function describeFailure(error: unknown): Failure {
  const { exitCode, message, details } = classify(error)
  const shown = details.slice(0, MAX_DETAILS).map(printable)
  if (details.length > shown.length) shown.push(`and ${details.length - shown.length} more`)
  return { exitCode, message: printable(message), details: shown }
}

function classify(error: unknown): Failure {
  const failure = (exitCode: number, message: string, details: readonly string[] = []) => ({
    exitCode,
    message,
    details,
  })
  const text = error instanceof Error ? error.message : String(error)
  if (error instanceof ExitCodeError) return { ...classify(error.cause), exitCode: error.exitCode }
  if (error instanceof InterruptedError) {
    return failure(EXIT.interrupted, 'Interrupted. Nothing is lost: run the command again to finish.')
  }
  if (error instanceof UsageError || error instanceof InvalidInputError) return failure(EXIT.usage, text)
  if (error instanceof MissingError) return failure(EXIT.notFound, text)
  if (error instanceof RefusedError) return failure(EXIT.failed, text, error.details)
  if (error instanceof SandboxCheckpointError) return ofContract(error, failure)
  if (error instanceof DamagedContentError) {
    return failure(EXIT.failed, `${text} Try again; if it stays so, tell who runs the deployment.`)
  }
  const status = statusOf(error)
  if (status !== undefined) return ofStatus(status, text, error, failure)
  if (error instanceof SandkeepNetworkError) return failure(EXIT.network, `${text} Then try again.`)
  if (error instanceof TransferError || isNetworkError(error)) return ofTransfer(error, text, failure)
  return ofFileSystem(error, text, failure)
}

type Make = (exitCode: number, message: string, details?: readonly string[]) => Failure

function ofContract(error: SandboxCheckpointError, failure: Make): Failure {
  switch (error.code) {
    case 'SANDBOX_SNAPSHOT_WRITER_CONFLICT':
      return failure(
        EXIT.conflict,
        `The thread is busy: ${error.message} Try again when that writer is done; a lease that is not renewed ends by itself within about two minutes.`,
      )
    case 'SANDBOX_SNAPSHOT_WRITER_LOST':
      return failure(
        EXIT.conflict,
        `The lease of the thread was lost: ${error.message} Nothing was changed; try again.`,
      )
    case 'SANDBOX_SNAPSHOT_STALE_HEAD':
    case 'SANDBOX_SNAPSHOT_NOT_HEAD':
    case 'SANDBOX_SNAPSHOT_PARENT_MISMATCH':
    case 'SANDBOX_SNAPSHOT_DUPLICATE_ID':
      return failure(EXIT.conflict, `The thread changed meanwhile: ${error.message} Try again.`)
    case 'SANDBOX_SNAPSHOT_FORK_DESTINATION_NOT_EMPTY':
      return failure(EXIT.conflict, `${error.message} Fork to a thread that does not exist yet.`)
    case 'SANDBOX_SNAPSHOT_FORK_SOURCE_NOT_FOUND':
    case 'SANDBOX_SNAPSHOT_FORK_SOURCE_THREAD_MISMATCH':
      return failure(
        EXIT.notFound,
        `${error.message} See \`sandkeep log --thread THREAD\` for the checkpoints of a thread.`,
      )
    default:
      return failure(EXIT.failed, error.message)
  }
}

/** What the API says about a path that is none of its own. */
const NO_ROUTE = 'There is no such route.'

/** The HTTP status of an answer that the client passes on. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof SandkeepError) return error.status
  if (error instanceof TransferError || !(error instanceof Error)) return undefined
  return 'status' in error && typeof error.status === 'number' && error.status >= 100 ? error.status : undefined
}

function ofStatus(status: number, text: string, error: unknown, failure: Make): Failure {
  const request =
    error instanceof Error && 'requestId' in error && error.requestId ? ` (request ${error.requestId})` : ''
  // The client refused, and sent nothing.
  if (status === 400 && error instanceof SandboxFileError && error.requestId === undefined) {
    return failure(EXIT.usage, text)
  }
  if (status === 401)
    return failure(
      EXIT.auth,
      `The API key or the token is not valid: ${text} Check --api-key (SANDBOX_API_KEY) and --token (SANDBOX_TOKEN).`,
    )
  if (status === 403) {
    return failure(
      EXIT.auth,
      `The API key or the token does not allow this: ${text} Check the tenant, the project, the role and the rights.`,
    )
  }
  if (status === 404 && text === NO_ROUTE) {
    return failure(EXIT.usage, `${text} Check the URL: --url (SANDBOX_GATEWAY_URL).${request}`)
  }
  if (status === 404) return failure(EXIT.notFound, `${text}${request}`)
  // No other writer is in the way: it will never be otherwise.
  if (error instanceof SandkeepError && error.code === 'file_not_downloadable') return failure(EXIT.failed, text)
  if (status === 409) return failure(EXIT.conflict, `${text}${request}`)
  if (status === 429 || status === 502 || status === 503 || status === 504) {
    return failure(EXIT.network, `The API is not available (${status}): ${text}${request} Try again later.`)
  }
  return failure(EXIT.failed, `The API answered ${status}: ${text}${request}`)
}

function ofTransfer(error: unknown, text: string, failure: Make): Failure {
  const status = error instanceof TransferError ? error.status : undefined
  if (status !== undefined && status < 500 && status !== 429) {
    return failure(EXIT.failed, `${text} Try again; if it stays so, tell who runs the deployment.`)
  }
  const code = errnoOf(error)
  const cause = code === undefined ? text : `${text} (${code}).`
  return failure(EXIT.network, `Cannot reach the storage: ${cause} Check the network, then try again.`)
}

const FILE_SYSTEM_HINTS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full. Free some space and run the command again.',
  EDQUOT: 'The disk quota is used up. Free some space and run the command again.',
  ENOENT: 'It is not there, or cannot be made there. Check the path and run the command again.',
  EEXIST: 'Something else came there meanwhile. Run the command again.',
  EROFS: 'The file system is read-only. Choose another folder.',
  EACCES: 'Permission denied. Change the permissions or choose another folder.',
  EPERM: 'The operation is not permitted there. Change the permissions or choose another folder.',
  ELOOP: 'A symlink there leads back to itself. Remove it or choose another folder.',
  ENOTDIR: 'Not a folder.',
  EMFILE: 'Too many open files. Raise the limit (ulimit -n) and run the command again.',
  ENAMETOOLONG: 'The path is too long for the file system. Choose a folder nearer to the top.',
}

function ofFileSystem(error: unknown, text: string, failure: Make): Failure {
  const hint = FILE_SYSTEM_HINTS[errnoOf(error) ?? '']
  if (hint === undefined) return failure(EXIT.failed, text)
  const path =
    error instanceof Error && 'path' in error && typeof error.path === 'string' && !isHandlePath(error.path)
      ? `${printablePath(error.path)}: `
      : ''
  return failure(EXIT.failed, `${path}${hint}`)
}

/** Such a path leads into the staging folder and tells the user nothing. */
function isHandlePath(path: string): boolean {
  return path.startsWith('/proc/self/fd/')
}
