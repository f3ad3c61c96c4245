import { compareUtf8 } from '../storage/key-index.ts'
import { buildXml } from '../xml.ts'
import { type Context, type Reply, xmlReply } from './context.ts'
import { nameEncoder, ownerElement, readLimit, takePage } from './listing.ts'
import { findUpload } from './multipart.ts'

export function listParts({ request, catalog }: Context): Reply {
  const { query } = request
  const { upload, parts } = findUpload(catalog.bucket(request.bucket), request)
  const limit = readLimit(query, 'max-parts')
  const marker = Number(query.get('part-number-marker') ?? 0)
  const all = [...parts.values()].filter((part) => part.number > marker).sort((a, b) => a.number - b.number)
  const page = all.slice(0, limit)
  return xmlReply(
    buildXml('ListPartsResult', {
      Bucket: request.bucket,
      Key: request.key,
      UploadId: upload.uploadId,
      PartNumberMarker: marker,
      NextPartNumberMarker: page.at(-1)?.number,
      MaxParts: limit,
      IsTruncated: page.length < all.length,
      ChecksumAlgorithm: upload.checksumAlgorithm,
      ChecksumType: upload.checksumType,
      Initiator: ownerElement,
      Owner: ownerElement,
      StorageClass: upload.storageClass,
      Part: page.map((part) => ({
        PartNumber: part.number,
        LastModified: new Date(part.lastModified).toISOString(),
        ETag: `"${part.etag}"`,
        Size: part.size,
        ...(part.checksum && { [`Checksum${part.checksum.algorithm}`]: part.checksum.value }),
      })),
    }),
  )
}

export function listUploads({ request, catalog }: Context): Reply {
  const { query } = request
  const bucket = catalog.bucket(request.bucket)
  const prefix = query.get('prefix') ?? ''
  const delimiter = query.get('delimiter') ?? ''
  const keyMarker = query.get('key-marker') ?? ''
  const idMarker = keyMarker === '' ? undefined : query.get('upload-id-marker')
  const limit = readLimit(query, 'max-uploads')
  const encode = nameEncoder(query)
  const ordered = [...bucket.uploads.values()]
    .map(({ upload }) => upload)
    .filter((upload) => upload.key.startsWith(prefix))
    .sort((a, b) => compareUtf8(a.key, b.key) || a.initiated - b.initiated || compareUtf8(a.uploadId, b.uploadId))
  const markerAt = ordered.findIndex((upload) => upload.uploadId === idMarker)
  const after =
    markerAt < 0 ? ordered.filter((upload) => compareUtf8(upload.key, keyMarker) > 0) : ordered.slice(markerAt + 1)
  const page = takePage(after, { prefix, delimiter, after: keyMarker, limit })
  return xmlReply(
    buildXml('ListMultipartUploadsResult', {
      Bucket: request.bucket,
      KeyMarker: encode(keyMarker),
      UploadIdMarker: idMarker ?? '',
      NextKeyMarker: page.truncated ? encode(page.last) : undefined,
      NextUploadIdMarker: page.truncated ? page.items.at(-1)?.uploadId : undefined,
      Prefix: encode(prefix),
      Delimiter: delimiter === '' ? undefined : encode(delimiter),
      EncodingType: query.get('encoding-type'),
      MaxUploads: limit,
      IsTruncated: page.truncated,
      Upload: page.items.map((upload) => ({
        Key: encode(upload.key),
        UploadId: upload.uploadId,
        Initiator: ownerElement,
        Owner: ownerElement,
        StorageClass: upload.storageClass,
        Initiated: new Date(upload.initiated).toISOString(),
        ChecksumAlgorithm: upload.checksumAlgorithm,
        ChecksumType: upload.checksumType,
      })),
      CommonPrefixes: page.prefixes.map((name) => ({ Prefix: encode(name) })),
    }),
  )
}
