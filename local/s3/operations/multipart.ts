import { createHash, randomBytes } from 'node:crypto'
import { type ChecksumAlgorithm, type ChecksumType, checksumHeader, isChecksumAlgorithm } from '../checksums.ts'
import { S3Error } from '../errors.ts'
import { Payload } from '../payload.ts'
import type { S3Request } from '../request.ts'
import type { Bucket } from '../storage/catalog.ts'
import type { MultipartUpload, UploadPart } from '../storage/types.ts'
import { buildXml } from '../xml.ts'
import { readAttributes } from './attributes.ts'
import { checkWrite } from './conditions.ts'
import { type Context, payloadOf, type Reply, xmlReply } from './context.ts'
import { checkObjectChecksum, choosePart, readPartList, uploadChecksum } from './parts.ts'
import { storePayload } from './store.ts'
import { newVersionId, versionHeaders } from './versions.ts'

export async function createUpload({ request, catalog, time }: Context): Promise<Reply> {
  const bucket = catalog.bucket(request.bucket)
  const checksum = readChecksumChoice(request.headers)
  const upload: MultipartUpload = {
    ...readAttributes(request.headers),
    ...checksum,
    uploadId: randomBytes(32).toString('base64url'),
    bucket: request.bucket,
    key: request.key,
    initiated: time,
  }
  await catalog.putUpload(bucket, upload)
  const reply = xmlReply(
    buildXml('InitiateMultipartUploadResult', {
      Bucket: upload.bucket,
      Key: upload.key,
      UploadId: upload.uploadId,
    }),
  )
  const headers: Record<string, string> = { 'x-amz-server-side-encryption': upload.encryption, ...reply.headers }
  if (checksum.checksumAlgorithm) {
    headers['x-amz-checksum-algorithm'] = checksum.checksumAlgorithm
    headers['x-amz-checksum-type'] = checksum.checksumType
  }
  return { ...reply, headers }
}

/** Which checksum the whole object is to have. SHA has no form for a whole object made of parts, CRC64NVME no other. */
function readChecksumChoice(
  headers: Readonly<Record<string, string>>,
): { checksumAlgorithm: ChecksumAlgorithm; checksumType: ChecksumType } | Record<string, never> {
  const algorithm = headers['x-amz-checksum-algorithm']
  const type = headers['x-amz-checksum-type']
  if (algorithm === undefined) {
    if (type === undefined) return {}
    throw new S3Error(
      'InvalidRequest',
      'The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.',
    )
  }
  if (!isChecksumAlgorithm(algorithm)) {
    throw new S3Error('InvalidRequest', 'Checksum algorithm provided is unsupported.')
  }
  const checksumType = type ?? (algorithm === 'CRC64NVME' ? 'FULL_OBJECT' : 'COMPOSITE')
  if (checksumType !== 'FULL_OBJECT' && checksumType !== 'COMPOSITE') {
    throw new S3Error('InvalidRequest', 'Value for x-amz-checksum-type header is invalid.')
  }
  if (
    algorithm.startsWith('SHA')
      ? checksumType === 'FULL_OBJECT'
      : algorithm === 'CRC64NVME' && checksumType === 'COMPOSITE'
  ) {
    throw new S3Error(
      'InvalidRequest',
      `The ${checksumType} checksum type cannot be used with the ${algorithm.toLowerCase()} checksum algorithm.`,
    )
  }
  return { checksumAlgorithm: algorithm, checksumType }
}

/** @throws S3Error NoSuchUpload */
export function findUpload(
  bucket: Bucket,
  request: S3Request,
): { upload: MultipartUpload; parts: ReadonlyMap<number, UploadPart> } {
  const found = bucket.uploads.get(request.query.get('uploadId') ?? '')
  if (!found || found.upload.key !== request.key) throw new S3Error('NoSuchUpload')
  return found
}

/** @throws S3Error InvalidArgument */
export function readPartNumber(request: S3Request): number {
  const value = request.query.get('partNumber') ?? ''
  const number = Number(value)
  if (!/^\d{1,5}$/.test(value) || number < 1 || number > 10_000) {
    throw new S3Error('InvalidArgument', 'Part number must be an integer between 1 and 10000, inclusive', {
      ArgumentName: 'partNumber',
      ArgumentValue: value,
    })
  }
  return number
}

export async function uploadPart(context: Context): Promise<Reply> {
  const { request, catalog, time } = context
  const { upload } = findUpload(catalog.bucket(request.bucket), request)
  const number = readPartNumber(request)
  const payload = payloadOf(context)
  checkPartAlgorithm(upload, payload.algorithm)
  const { piece, received } = await storePayload(catalog, payload)
  const checksum = payload.algorithm && received.checksum
  const part: UploadPart = {
    uploadId: upload.uploadId,
    number,
    size: received.size,
    etag: received.md5,
    lastModified: time,
    piece,
    ...(checksum && { checksum }),
  }
  try {
    await catalog.exclusive(request.bucket, request.key, (bucket) => catalog.putPart(bucket, part))
  } catch (error) {
    await catalog.leases.remove([piece])
    throw error
  }
  const stated: Record<string, string> = checksum ? { [checksumHeader(checksum.algorithm)]: checksum.value } : {}
  return {
    status: 200,
    headers: { etag: `"${part.etag}"`, 'x-amz-server-side-encryption': upload.encryption, ...stated },
  }
}

function checkPartAlgorithm(upload: MultipartUpload, algorithm: ChecksumAlgorithm | undefined): void {
  const { checksumAlgorithm: expected, checksumType } = upload
  if (!expected || algorithm === expected) return
  if (!algorithm && checksumType === 'FULL_OBJECT') return
  throw new S3Error(
    'InvalidRequest',
    `Checksum Type mismatch occurred, expected checksum Type: ${expected.toLowerCase()}, actual checksum Type: ${algorithm?.toLowerCase() ?? 'null'}`,
  )
}

export async function completeUpload(context: Context): Promise<Reply> {
  const { request, catalog, authorized, time } = context
  const { upload } = findUpload(catalog.bucket(request.bucket), request)
  const listed = readPartList(await documentOf(context))
  return catalog.exclusive(request.bucket, request.key, async (bucket) => {
    const { parts } = findUpload(bucket, request)
    checkWrite(authorized.request.headers, bucket.objects.current(request.key))
    const chosen = listed.map((entry, index) => choosePart(upload, parts, entry, index === listed.length - 1))
    const pieces = chosen.map((part) => part.piece)
    const size = chosen.reduce((sum, part) => sum + part.size, 0)
    const checksum = await uploadChecksum(catalog, upload, chosen)
    checkObjectChecksum(request.headers, checksum, size)
    const md5 = createHash('md5')
    for (const part of chosen) md5.update(Buffer.from(part.etag, 'hex'))
    const { headers, metadata, tags, storageClass, encryption, key, uploadId } = upload
    const version = await catalog.putVersion(bucket, {
      ...{ headers, metadata, tags, storageClass, encryption, key, uploadId },
      bucket: request.bucket,
      versionId: newVersionId(bucket),
      deleteMarker: false,
      lastModified: time,
      size,
      etag: `${md5.digest('hex')}-${chosen.length}`,
      pieces,
      parts: chosen.map((part) => ({
        number: part.number,
        size: part.size,
        ...(part.checksum && { checksum: part.checksum.value }),
      })),
      ...(checksum && { checksum }),
    })
    await catalog.deleteUpload(bucket, uploadId, pieces)
    const reply = xmlReply(
      buildXml('CompleteMultipartUploadResult', {
        Location: `http://${request.headers.host}/${request.bucket}/${encodeURIComponent(key)}`,
        Bucket: request.bucket,
        Key: key,
        ETag: `"${version.etag}"`,
        ...(checksum && { [`Checksum${checksum.algorithm}`]: checksum.value, ChecksumType: checksum.type }),
      }),
    )
    return {
      ...reply,
      headers: {
        ...reply.headers,
        ...versionHeaders(bucket, version),
        'x-amz-server-side-encryption': encryption,
      },
    }
  })
}

/** The list of parts. The checksum headers of this request are those of the object, not of the document. */
function documentOf({ authorized }: Context): Promise<Buffer> {
  const headers = Object.fromEntries(
    Object.entries(authorized.request.headers).filter(([name]) => !name.startsWith('x-amz-checksum-')),
  )
  return new Payload({ ...authorized, request: { ...authorized.request, headers } }).document()
}

export function abortUpload({ request, catalog }: Context): Promise<Reply> {
  catalog.bucket(request.bucket)
  return catalog.exclusive(request.bucket, request.key, async (bucket) => {
    const { upload } = findUpload(bucket, request)
    await catalog.deleteUpload(bucket, upload.uploadId)
    return { status: 204 }
  })
}
