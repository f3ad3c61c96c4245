import { InvalidInputError, PayloadTooLargeError } from '../errors.ts'
import { MAX_ARTIFACT_BYTES, MAX_META_BYTES, MAX_SUMMARY_BYTES } from '../limits.ts'
import { checkArtifactName, checkContentType, checkTaskId, checkTurn } from './names.ts'
import type { ArtifactId, TurnId, TurnWrite } from './types.ts'

const hashPattern = /^[0-9a-f]{64}$/

/** Tasks or turns of one page. */
const MAX_PAGE = 1_000

export function checkTurnId({ taskId, turn }: TurnId): void {
  checkTaskId(taskId)
  checkTurn(turn)
}

export function checkArtifactId(id: ArtifactId): void {
  checkTurnId(id)
  checkArtifactName(id.name)
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
  checkContentType(contentType)
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
