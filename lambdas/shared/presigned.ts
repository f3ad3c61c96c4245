import type { PresignedRequest } from '../../src/blobs/types.ts'
import { timestamp } from './timestamp.ts'

/** A presigned request in the API's field names. */
export function presigned({ method, url, headers, expiresAt }: PresignedRequest) {
  return { method, url, headers, expires_at: timestamp(expiresAt) }
}
