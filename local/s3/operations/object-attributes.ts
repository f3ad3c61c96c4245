import { S3Error } from '../errors.ts'
import { buildXml } from '../xml.ts'
import { type Context, type Reply, xmlReply } from './context.ts'
import { findVersion, versionHeaders } from './versions.ts'

const names = new Set(['ETag', 'Checksum', 'ObjectParts', 'StorageClass', 'ObjectSize'])

export function getObjectAttributes({ request, catalog }: Context): Reply {
  const bucket = catalog.bucket(request.bucket)
  const version = findVersion(bucket, request)
  const wanted = new Set((request.headers['x-amz-object-attributes'] ?? '').split(',').map((name) => name.trim()))
  if ([...wanted].some((name) => !names.has(name))) {
    throw new S3Error('InvalidArgument', 'Invalid attribute name specified.', {
      ArgumentName: 'x-amz-object-attributes',
    })
  }
  const { checksum, parts } = version
  const reply = xmlReply(
    buildXml('GetObjectAttributesResponse', {
      ETag: wanted.has('ETag') ? version.etag : undefined,
      Checksum:
        wanted.has('Checksum') && checksum
          ? { [`Checksum${checksum.algorithm}`]: checksum.value, ChecksumType: checksum.type }
          : undefined,
      ObjectParts:
        wanted.has('ObjectParts') && parts
          ? {
              PartsCount: parts.length,
              PartNumberMarker: 0,
              MaxParts: 1000,
              IsTruncated: parts.length > 1000,
              NextPartNumberMarker: parts[Math.min(parts.length, 1000) - 1]?.number,
              Part: parts.slice(0, 1000).map((part) => ({
                PartNumber: part.number,
                Size: part.size,
                ...(part.checksum && checksum && { [`Checksum${checksum.algorithm}`]: part.checksum }),
              })),
            }
          : undefined,
      StorageClass: wanted.has('StorageClass') ? version.storageClass : undefined,
      ObjectSize: wanted.has('ObjectSize') ? version.size : undefined,
    }),
  )
  const headers = {
    ...reply.headers,
    'last-modified': new Date(version.lastModified).toUTCString(),
    ...versionHeaders(bucket, version),
  }
  return { ...reply, headers }
}
