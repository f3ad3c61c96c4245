import { createHash } from 'node:crypto'
import { createDigest, isChecksumAlgorithm } from '../checksums.ts'
import { S3Error } from '../errors.ts'
import { maxUploadBytes } from '../payload.ts'
import type { S3Request } from '../request.ts'
import type { Catalog } from '../storage/catalog.ts'
import type { ObjectVersion, Piece } from '../storage/types.ts'
import { buildXml } from '../xml.ts'
import { readAttributes, readStorage } from './attributes.ts'
import { checkRead, checkWrite } from './conditions.ts'
import { type Context, type Reply, xmlReply } from './context.ts'
import { findUpload, readPartNumber } from './multipart.ts'
import { readPieces } from './pieces.ts'
import { commitVersion, storePiece } from './store.ts'
import { parseTagQuery } from './tags.ts'
import { findVersion, versionHeaders } from './versions.ts'

export async function copyObject({ request, catalog, time }: Context): Promise<Reply> {
  const { bucket: name, key, headers } = request
  const bucket = catalog.bucket(name)
  const { source, sourceHeaders } = findSource(catalog, headers)
  if (source.size > maxUploadBytes) throw new S3Error('InvalidRequest', 'The copy source is larger than 5 GiB')
  const replaceMetadata = directive(headers, 'x-amz-metadata-directive')
  const replaceTags = directive(headers, 'x-amz-tagging-directive')
  const given = readAttributes(headers)
  const storage = readStorage(headers)
  const same = source.bucket === name && source.key === key && bucket.objects.current(key) === source
  if (same && !replaceMetadata && headers['x-amz-storage-class'] === undefined) {
    throw new S3Error(
      'InvalidRequest',
      "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.",
    )
  }
  checkWrite(headers, bucket.objects.current(key))
  const algorithm = headers['x-amz-checksum-algorithm'] ?? source.checksum?.algorithm ?? 'CRC32'
  if (!isChecksumAlgorithm(algorithm))
    throw new S3Error('InvalidRequest', 'Checksum algorithm provided is unsupported.')
  const digest = createDigest(algorithm)
  const { piece, md5 } = await copyBytes(catalog, source, 0, source.size, (chunk) => digest.update(chunk))
  const described = replaceMetadata ? given : source
  const version = await commitVersion(catalog, headers, {
    headers: described.headers,
    metadata: described.metadata,
    tags: replaceTags ? parseTagQuery(headers['x-amz-tagging'] ?? '') : source.tags,
    ...storage,
    bucket: name,
    key,
    lastModified: time,
    size: source.size,
    etag: md5,
    pieces: [piece],
    checksum: { algorithm, type: 'FULL_OBJECT', value: digest.digest().toString('base64') },
  })
  const reply = xmlReply(
    buildXml('CopyObjectResult', {
      ETag: `"${version.etag}"`,
      LastModified: new Date(version.lastModified).toISOString(),
      ...(version.checksum && {
        [`Checksum${algorithm}`]: version.checksum.value,
        ChecksumType: version.checksum.type,
      }),
    }),
  )
  return {
    ...reply,
    headers: {
      ...reply.headers,
      ...versionHeaders(bucket, version),
      ...sourceHeaders,
      'x-amz-server-side-encryption': version.encryption,
    },
  }
}

export async function uploadPartCopy({ request, catalog, time }: Context): Promise<Reply> {
  const { upload } = findUpload(catalog.bucket(request.bucket), request)
  const number = readPartNumber(request)
  const { source, sourceHeaders } = findSource(catalog, request.headers)
  const { start, end } = readSourceRange(request, source.size)
  const { checksumAlgorithm: algorithm } = upload
  const digest = algorithm && createDigest(algorithm)
  const { piece, md5 } = await copyBytes(catalog, source, start, end, (chunk) => digest?.update(chunk))
  const checksum = algorithm && digest && { algorithm, value: digest.digest().toString('base64') }
  const part = {
    uploadId: upload.uploadId,
    number,
    size: end - start,
    etag: md5,
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
  const reply = xmlReply(
    buildXml('CopyPartResult', {
      ETag: `"${md5}"`,
      LastModified: new Date(time).toISOString(),
      ...(checksum && { [`Checksum${checksum.algorithm}`]: checksum.value }),
    }),
  )
  return { ...reply, headers: { ...reply.headers, ...sourceHeaders } }
}

/** The version that `x-amz-copy-source` names, if the request's conditions on it hold. */
function findSource(
  catalog: Catalog,
  headers: Readonly<Record<string, string>>,
): { source: ObjectVersion; sourceHeaders: Record<string, string> } {
  const [path = '', versionId] = (headers['x-amz-copy-source'] ?? '').split('?versionId=')
  let name: string
  try {
    name = decodeURIComponent(path.replaceAll('+', ' ')).replace(/^\//, '')
  } catch {
    throw new S3Error('InvalidArgument', 'Invalid copy source encoding')
  }
  const slash = name.indexOf('/')
  if (slash < 1 || slash === name.length - 1) {
    throw new S3Error('InvalidArgument', 'Invalid copy source object key', { ArgumentName: 'x-amz-copy-source' })
  }
  const bucket = catalog.bucket(name.slice(0, slash))
  const query = new Map(versionId === undefined ? [] : [['versionId', versionId] as const])
  const source = findVersion(bucket, { key: name.slice(slash + 1), query })
  if (checkRead(headers, source, 'x-amz-copy-source-') === 'not modified') throw new S3Error('PreconditionFailed')
  const id = versionHeaders(bucket, source)['x-amz-version-id']
  return { source, sourceHeaders: id === undefined ? {} : { 'x-amz-copy-source-version-id': id } }
}

function directive(headers: Readonly<Record<string, string>>, name: string): boolean {
  const value = headers[name] ?? 'COPY'
  if (value !== 'COPY' && value !== 'REPLACE') {
    throw new S3Error('InvalidArgument', `Unknown directive: ${value}`, { ArgumentName: name, ArgumentValue: value })
  }
  return value === 'REPLACE'
}

function readSourceRange(request: S3Request, size: number): { start: number; end: number } {
  const header = request.headers['x-amz-copy-source-range']
  if (header === undefined) return { start: 0, end: size }
  const match = /^bytes=(\d+)-(\d+)$/.exec(header)
  const start = Number(match?.[1])
  const end = Number(match?.[2]) + 1
  if (!match || start >= end || end > size) {
    throw new S3Error('InvalidArgument', `Range specified is not valid for source object of size: ${size}`, {
      ArgumentName: 'x-amz-copy-source-range',
      ArgumentValue: header,
    })
  }
  return { start, end }
}

async function copyBytes(
  catalog: Catalog,
  source: ObjectVersion,
  start: number,
  end: number,
  observe: (chunk: Buffer) => void,
): Promise<{ piece: Piece; md5: string }> {
  const release = catalog.leases.hold(source.pieces)
  try {
    const { piece, result } = await storePiece(catalog, async (sink) => {
      const md5 = createHash('md5')
      for await (const chunk of readPieces(catalog, source.pieces, start, end)) {
        md5.update(chunk)
        observe(chunk)
        await sink.write(chunk)
      }
      return md5.digest('hex')
    })
    return { piece, md5: result }
  } finally {
    await release()
  }
}
