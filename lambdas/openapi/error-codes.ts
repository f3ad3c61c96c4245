import type { SandboxCheckpointErrorCode } from '../../src/checkpoints/errors.ts'

interface ErrorMeaning {
  /** Those that the code may come with. `4XX`: any that the gateway chooses. */
  statuses: readonly (number | '4XX')[]
  meaning: string
}

const ofContract: Record<SandboxCheckpointErrorCode, ErrorMeaning> = {
  SANDBOX_SNAPSHOT_STALE_HEAD: { statuses: [409], meaning: 'The head is not the expected one.' },
  SANDBOX_SNAPSHOT_PARENT_MISMATCH: { statuses: [409], meaning: 'The parent is not the expected head.' },
  SANDBOX_SNAPSHOT_DUPLICATE_ID: { statuses: [409], meaning: 'The id is used, in this thread or in another.' },
  SANDBOX_SNAPSHOT_NOT_HEAD: { statuses: [409], meaning: 'The checkpoint to delete is not the head.' },
  SANDBOX_SNAPSHOT_WRITER_CONFLICT: { statuses: [409], meaning: 'Another writer holds the thread.' },
  SANDBOX_SNAPSHOT_WRITER_LOST: { statuses: [409], meaning: 'The lease is not current.' },
  SANDBOX_SNAPSHOT_INVALID_ID: {
    statuses: [400],
    meaning: 'An id is not a non-empty string of well-formed Unicode.',
  },
  SANDBOX_SNAPSHOT_INVALID_ENTRY: {
    statuses: [400],
    meaning: 'A member of the checkpoint breaks its rule; the message names it.',
  },
  SANDBOX_SNAPSHOT_FORK_SOURCE_NOT_FOUND: { statuses: [404], meaning: 'There is no such source.' },
  SANDBOX_SNAPSHOT_FORK_SOURCE_THREAD_MISMATCH: { statuses: [409], meaning: 'The source is of another thread.' },
  SANDBOX_SNAPSHOT_FORK_DESTINATION_NOT_EMPTY: { statuses: [409], meaning: 'The destination has a head.' },
}

/** Every code that `error.code` of an answer may hold, and the statuses that it comes with. */
export const ERROR_CODES = {
  invalid_input: {
    statuses: [400],
    meaning:
      'Not UTF-8, not JSON, JSON too deep or of too many values, an unknown or a wrong field, header or parameter; `field` names it.',
  },
  unauthenticated: { statuses: [401], meaning: 'No API key and no token, or one that is not valid.' },
  forbidden: {
    statuses: [403],
    meaning:
      'The credentials are not for this tenant and project, or not for this call. Whether they exist is not told.',
  },
  not_found: { statuses: [404], meaning: 'It is not in this tenant and project, or there is no such route.' },
  method_not_allowed: { statuses: [405], meaning: 'The header `Allow` names the methods that the path has.' },
  payload_too_large: {
    statuses: [413],
    meaning: 'The body, or what it announces, is too large. `upload` is the path to announce it at, if there is one.',
  },
  unsupported_media_type: { statuses: [415], meaning: 'The content type is not one that the route takes.' },
  too_many_requests: { statuses: [429], meaning: 'Try again later.' },
  invalid_request: { statuses: ['4XX'], meaning: 'The gateway refuses the request.' },
  internal_error: { statuses: [500, 502], meaning: 'The request failed. Quote the `x-request-id`.' },
  unavailable: {
    statuses: [503, 502],
    meaning: 'The storage or the identity provider did not answer. Nothing is known to have changed: try again.',
  },
  timeout: { statuses: [504], meaning: 'No answer in time. The request may still take effect.' },
  page_expired: { statuses: [409], meaning: 'The thread changed since the first page was read. Start again.' },
  blob_in_use: { statuses: [409], meaning: 'A checkpoint uses one of the blobs. Nothing was deleted.' },
  blob_missing: { statuses: [409], meaning: 'Upload the blobs in `keys` first, and save again.' },
  sandbox_expired: { statuses: [409], meaning: 'The sandbox has expired.' },
  sandbox_destroyed: { statuses: [409], meaning: 'The sandbox is destroyed.' },
  turn_exists: { statuses: [412], meaning: 'The turn is there already.' },
  too_many_artifacts: { statuses: [409], meaning: 'The turn holds as many artifacts as it may.' },
  upload_incomplete: { statuses: [409], meaning: 'The bytes that were announced are not there.' },
  file_not_downloadable: { statuses: [409], meaning: 'Only files that a sandbox made can be downloaded.' },
  file_refused: { statuses: [400], meaning: 'The provider of the files does not take this file.' },
  storage_full: { statuses: [507], meaning: 'The storage of the files is full. Delete some first.' },
  upstream_busy: { statuses: [503], meaning: 'The provider behind the service is busy. Try again later.' },
  upstream_failed: { statuses: [502], meaning: 'The provider behind the service failed to answer.' },
  upstream_refused: { statuses: [502], meaning: 'The provider behind the service refuses this deployment.' },
  not_configured: { statuses: [501], meaning: 'The deployment has no API key of the provider.' },
  ...ofContract,
} as const satisfies Record<string, ErrorMeaning>

export type ErrorCode = keyof typeof ERROR_CODES

/** What any request may be answered with. */
export const COMMON_ERRORS: readonly ErrorCode[] = [
  'payload_too_large',
  'too_many_requests',
  'invalid_request',
  'internal_error',
  'unavailable',
  'timeout',
]

/** What any request to a route with credentials may be answered with, besides. */
export const CREDENTIAL_ERRORS: readonly ErrorCode[] = [
  'invalid_input',
  'unauthenticated',
  'forbidden',
  'unsupported_media_type',
]
