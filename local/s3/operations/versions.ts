import { randomBytes } from 'node:crypto'
import { S3Error } from '../errors.ts'
import type { S3Request } from '../request.ts'
import type { Bucket } from '../storage/catalog.ts'
import type { ObjectVersion } from '../storage/types.ts'

/** The id of a new version: unique where the bucket is versioned, `null` elsewhere. */
export function newVersionId(bucket: Bucket): string {
  return bucket.record.versioning === 'Enabled' ? randomBytes(24).toString('base64url') : 'null'
}

/** The header that names a version, where the bucket has versions. */
export function versionHeaders(bucket: Bucket, version: { versionId: string }): Record<string, string> {
  return bucket.record.versioning ? { 'x-amz-version-id': version.versionId } : {}
}

/**
 * The version that a request asks for: by `versionId`, or the current one.
 * @throws S3Error NoSuchKey, NoSuchVersion, or MethodNotAllowed for a delete marker
 */
export function findVersion(bucket: Bucket, request: Pick<S3Request, 'key' | 'query'>): ObjectVersion {
  const { key } = request
  const versionId = request.query.get('versionId')
  if (versionId === undefined) {
    const [newest] = bucket.objects.of(key)
    if (newest && !newest.deleteMarker) return newest
    const headers = newest ? { 'x-amz-delete-marker': 'true', ...versionHeaders(bucket, newest) } : {}
    throw new S3Error('NoSuchKey', undefined, { Key: key }, headers)
  }
  const version = bucket.objects.of(key).find((candidate) => candidate.versionId === versionId)
  if (!version) throw new S3Error('NoSuchVersion', undefined, { Key: key, VersionId: versionId })
  if (version.deleteMarker) {
    throw new S3Error(
      'MethodNotAllowed',
      undefined,
      { Method: 'GET', ResourceType: 'DeleteMarker' },
      { 'x-amz-delete-marker': 'true', ...versionHeaders(bucket, version) },
    )
  }
  return version
}
