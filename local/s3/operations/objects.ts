import { type Checksum, checksumHeader } from '../checksums.ts'
import type { Bucket } from '../storage/catalog.ts'
import type { ObjectVersion } from '../storage/types.ts'
import { readAttributes } from './attributes.ts'
import { checkWrite } from './conditions.ts'
import { type Context, payloadOf, type Reply } from './context.ts'
import { commitVersion, storePayload } from './store.ts'
import { versionHeaders } from './versions.ts'

export function checksumHeaders(checksum: Checksum | undefined): Record<string, string> {
  if (!checksum) return {}
  return { [checksumHeader(checksum.algorithm)]: checksum.value, 'x-amz-checksum-type': checksum.type }
}

/** The headers that answer a write. */
export function writtenHeaders(bucket: Bucket, version: ObjectVersion): Record<string, string> {
  return {
    etag: `"${version.etag}"`,
    'x-amz-server-side-encryption': version.encryption,
    ...checksumHeaders(version.checksum),
    ...versionHeaders(bucket, version),
  }
}

export async function putObject(context: Context): Promise<Reply> {
  const { request, catalog, time } = context
  const { bucket: name, key, headers } = request
  const bucket = catalog.bucket(name)
  const attributes = readAttributes(headers)
  const payload = payloadOf(context)
  checkWrite(headers, bucket.objects.current(key))
  const { piece, received } = await storePayload(catalog, payload)
  const version = await commitVersion(catalog, headers, {
    ...attributes,
    bucket: name,
    key,
    lastModified: time,
    size: received.size,
    etag: received.md5,
    pieces: [piece],
    checksum: { ...received.checksum, type: 'FULL_OBJECT' },
  })
  return { status: 200, headers: writtenHeaders(bucket, version) }
}
