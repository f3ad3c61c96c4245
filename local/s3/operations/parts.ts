import {
  algorithmOfHeader,
  type Checksum,
  type ChecksumAlgorithm,
  checksumAlgorithms,
  compositeChecksum,
  createDigest,
} from '../checksums.ts'
import { S3Error } from '../errors.ts'
import type { Catalog } from '../storage/catalog.ts'
import type { MultipartUpload, UploadPart } from '../storage/types.ts'
import { children, parseXml, text } from '../xml.ts'

/** Bytes that every part but the last has at least. */
const minPartBytes = 5 * 1024 ** 2
const maxParts = 10_000

interface ListedPart {
  number: number
  /** Without quotes. */
  etag: string
  checksums: ReadonlyMap<ChecksumAlgorithm, string>
}

/** The parts that a CompleteMultipartUpload document names. */
export function readPartList(body: Buffer): ListedPart[] {
  const parts = children(parseXml(body, 'CompleteMultipartUpload'), 'Part').map((part) => {
    const number = text(part, 'PartNumber')
    const etag = text(part, 'ETag')
    if (number === undefined || !/^\d{1,5}$/.test(number) || etag === undefined) throw new S3Error('MalformedXML')
    const checksums = new Map<ChecksumAlgorithm, string>()
    for (const algorithm of checksumAlgorithms) {
      const value = text(part, `Checksum${algorithm}`)
      if (value !== undefined) checksums.set(algorithm, value)
    }
    return { number: Number(number), etag: etag.replace(/^"(.*)"$/, '$1'), checksums }
  })
  if (parts.length === 0 || parts.length > maxParts) throw new S3Error('MalformedXML')
  for (const [index, part] of parts.entries()) {
    if (index > 0 && part.number <= (parts[index - 1]?.number ?? 0)) throw new S3Error('InvalidPartOrder')
  }
  return parts
}

/** The uploaded part that the list means; it must be the one that the client knows, and large enough. */
export function choosePart(
  upload: MultipartUpload,
  parts: ReadonlyMap<number, UploadPart>,
  listed: ListedPart,
  last: boolean,
): UploadPart {
  const part = parts.get(listed.number)
  const details = { UploadId: upload.uploadId, PartNumber: String(listed.number), ETag: listed.etag }
  if (!part || part.etag !== listed.etag) throw new S3Error('InvalidPart', undefined, details)
  for (const [algorithm, value] of listed.checksums) {
    if (part.checksum?.algorithm === algorithm && part.checksum.value !== value) {
      throw new S3Error('InvalidPart', undefined, details)
    }
  }
  const { checksumAlgorithm: algorithm, checksumType } = upload
  if (algorithm && checksumType === 'COMPOSITE' && !listed.checksums.has(algorithm)) {
    throw new S3Error(
      'InvalidRequest',
      `The upload was created using a ${algorithm.toLowerCase()} checksum. The complete request must include the checksum for each part. It was missing for part ${listed.number} in the request.`,
    )
  }
  if (!last && part.size < minPartBytes) {
    throw new S3Error('EntityTooSmall', undefined, {
      ...details,
      ProposedSize: String(part.size),
      MinSizeAllowed: String(minPartBytes),
    })
  }
  return part
}

/** The checksum of the completed object, of the kind that the upload was created with. */
export async function uploadChecksum(
  catalog: Catalog,
  upload: MultipartUpload,
  parts: readonly UploadPart[],
): Promise<Checksum | undefined> {
  const { checksumAlgorithm: algorithm, checksumType: type } = upload
  if (!algorithm || !type) return undefined
  if (type === 'COMPOSITE') {
    const values = parts.map((part) => part.checksum?.value ?? '')
    return { algorithm, type, value: compositeChecksum(algorithm, values) }
  }
  const digest = createDigest(algorithm)
  for (const { piece } of parts) {
    for await (const chunk of catalog.pieces.read(piece, 0, piece.size)) digest.update(chunk)
  }
  return { algorithm, type, value: digest.digest().toString('base64') }
}

/** @throws S3Error when the request states another checksum or size than the object has */
export function checkObjectChecksum(
  headers: Readonly<Record<string, string>>,
  checksum: Checksum | undefined,
  size: number,
): void {
  for (const [name, value] of Object.entries(headers)) {
    const algorithm = algorithmOfHeader(name)
    if (algorithm && (checksum?.algorithm !== algorithm || checksum.value !== value)) {
      throw new S3Error('BadDigest', `The ${algorithm} you specified did not match the calculated checksum.`)
    }
  }
  const type = headers['x-amz-checksum-type']
  if (type !== undefined && type !== checksum?.type) {
    throw new S3Error('InvalidRequest', `The upload was created using another checksum mode than ${type}`)
  }
  const stated = headers['x-amz-mp-object-size']
  if (stated !== undefined && Number(stated) !== size) {
    throw new S3Error('InvalidRequest', 'The provided x-amz-mp-object-size does not match the size of the object')
  }
}
