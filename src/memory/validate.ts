import { InvalidInputError, PayloadTooLargeError } from '../errors.ts'
import { MAX_ARTIFACT_BYTES, MAX_META_BYTES, MAX_SUMMARY_BYTES } from '../limits.ts'
import type { ArtifactId, TurnId, TurnWrite } from './types.ts'

const taskIdPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const namePattern = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$/
const contentTypePattern = /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/
const hashPattern = /^[0-9a-f]{64}$/

export const MAX_TURN = 9_999
/** Tasks or turns of one page. */
const MAX_PAGE = 1_000

export function checkTaskId(taskId: string): void {
  if (typeof taskId === 'string' && taskIdPattern.test(taskId)) return
  throw new InvalidInputError(
    'task_id',
    'task_id must be 1 to 128 characters of A-Z a-z 0-9 . _ -, the first a letter or a digit.',
  )
}

export function checkTurnId({ taskId, turn }: TurnId): void {
  checkTaskId(taskId)
  if (Number.isInteger(turn) && turn >= 0 && turn <= MAX_TURN) return
  throw new InvalidInputError('turn', `turn must be a whole number from 0 to ${MAX_TURN}.`)
}

export function checkArtifactId(id: ArtifactId): void {
  checkTurnId(id)
  if (typeof id.name === 'string' && namePattern.test(id.name)) return
  throw new InvalidInputError('name', 'name must be 1 to 128 characters of A-Z a-z 0-9 . _ -, and not . or ..')
}

export function checkTurnWrite(write: TurnWrite): void {
  checkTurnId(write)
  checkSize('meta', Buffer.byteLength(write.meta), MAX_META_BYTES)
  if (!write.summary.isWellFormed()) {
    throw new InvalidInputError('summary_md', 'summary_md must be well-formed Unicode: it holds half a surrogate pair.')
  }
  checkSize('summary_md', Buffer.byteLength(write.summary), MAX_SUMMARY_BYTES)
}

export function checkContent({ sizeBytes, contentType }: { sizeBytes: number; contentType: string }): void {
  if (!contentTypePattern.test(contentType)) {
    throw new InvalidInputError(
      'content_type',
      'content_type must be 1 to 256 visible characters of ASCII, with spaces between them.',
    )
  }
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) {
    throw new InvalidInputError('size_bytes', 'size_bytes must be a whole number of bytes.')
  }
  checkSize('size_bytes', sizeBytes, MAX_ARTIFACT_BYTES)
}

export function checkHash(sha256: string | undefined): void {
  if (sha256 === undefined || hashPattern.test(sha256)) return
  throw new InvalidInputError('sha256', 'sha256 must be 64 lowercase hex digits.')
}

export function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE) return
  throw new InvalidInputError('limit', `limit must be a whole number from 1 to ${MAX_PAGE}.`)
}

function checkSize(field: string, bytes: number, most: number): void {
  if (bytes <= most) return
  throw new PayloadTooLargeError(`${field} must be at most ${most} bytes, not ${bytes}.`, { field })
}
