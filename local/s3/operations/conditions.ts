import { S3Error } from '../errors.ts'
import type { ObjectVersion } from '../storage/types.ts'

type Headers = Readonly<Record<string, string>>

/**
 * Checks If-Match and If-None-Match of a write against the current version.
 * @throws S3Error PreconditionFailed, NoSuchKey, or NotImplemented for what S3 does not take here
 */
export function checkWrite(headers: Headers, current: ObjectVersion | undefined): void {
  const ifNoneMatch = headers['if-none-match']
  const ifMatch = headers['if-match']
  if (ifNoneMatch !== undefined && (ifNoneMatch !== '*' || ifMatch !== undefined)) {
    throw new S3Error('NotImplemented', undefined, { Header: 'If-None-Match' })
  }
  if (ifNoneMatch !== undefined && current) throw failed('If-None-Match')
  if (ifMatch === undefined) return
  if (!current) throw new S3Error('NoSuchKey')
  if (!matches(ifMatch, current.etag)) throw failed('If-Match')
}

/** Whether a read answers with the object, or that the client has it already. */
export function checkRead(headers: Headers, version: ObjectVersion, prefix = ''): 'changed' | 'not modified' {
  const ifMatch = headers[`${prefix}if-match`]
  const unmodifiedSince = Date.parse(headers[`${prefix}if-unmodified-since`] ?? '')
  const ifNoneMatch = headers[`${prefix}if-none-match`]
  const modifiedSince = Date.parse(headers[`${prefix}if-modified-since`] ?? '')
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, version.etag)) throw failed('If-Match')
  } else if (version.lastModified > unmodifiedSince) {
    throw failed('If-Unmodified-Since')
  }
  if (ifNoneMatch !== undefined) return matches(ifNoneMatch, version.etag) ? 'not modified' : 'changed'
  return version.lastModified <= modifiedSince ? 'not modified' : 'changed'
}

function matches(header: string, etag: string): boolean {
  return header
    .split(',')
    .map((candidate) => candidate.trim())
    .some((candidate) => candidate === '*' || candidate === `"${etag}"` || candidate === etag)
}

function failed(condition: string): S3Error {
  return new S3Error('PreconditionFailed', undefined, { Condition: condition })
}
