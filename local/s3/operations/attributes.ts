import { S3Error } from '../errors.ts'
import type { ObjectAttributes, ObjectVersion } from '../storage/types.ts'
import { parseTagQuery } from './tags.ts'

/** Bytes of user metadata, names and values together. */
const maxMetadataBytes = 2048
const metadataPrefix = 'x-amz-meta-'
export const contentHeaders = [
  'content-type',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'expires',
] as const
const storageClasses = new Set([
  'STANDARD',
  'REDUCED_REDUNDANCY',
  'STANDARD_IA',
  'ONEZONE_IA',
  'INTELLIGENT_TIERING',
  'GLACIER',
  'DEEP_ARCHIVE',
  'GLACIER_IR',
])
const encryptions = new Set(['AES256', 'aws:kms', 'aws:kms:dsse'])
const unsupported = [
  'x-amz-object-lock-',
  'x-amz-server-side-encryption-customer-',
  'x-amz-website-redirect-location',
  'x-amz-write-offset-bytes',
]

type Headers = Readonly<Record<string, string>>

/**
 * What the headers of an upload say of the object.
 * @throws S3Error for values that S3 refuses, and NotImplemented for features that this server has not
 */
export function readAttributes(headers: Headers): ObjectAttributes {
  for (const name of Object.keys(headers)) {
    if (unsupported.some((prefix) => name.startsWith(prefix))) {
      throw new S3Error('NotImplemented', undefined, { Header: name })
    }
    if (name.startsWith('x-amz-grant-')) throw new S3Error('AccessControlListNotSupported')
  }
  const acl = headers['x-amz-acl']
  if (acl !== undefined && acl !== 'bucket-owner-full-control') throw new S3Error('AccessControlListNotSupported')
  const tagging = headers['x-amz-tagging']
  return {
    headers: readContentHeaders(headers),
    metadata: readMetadata(headers),
    tags: tagging === undefined ? [] : parseTagQuery(tagging),
    ...readStorage(headers),
  }
}

export function readStorage(headers: Headers): { storageClass: string; encryption: string } {
  const storageClass = headers['x-amz-storage-class'] ?? 'STANDARD'
  if (!storageClasses.has(storageClass)) throw new S3Error('InvalidStorageClass')
  const encryption = headers['x-amz-server-side-encryption'] ?? 'AES256'
  if (!encryptions.has(encryption)) {
    throw new S3Error('InvalidArgument', 'The encryption method specified is not supported', {
      ArgumentName: 'x-amz-server-side-encryption',
      ArgumentValue: encryption,
    })
  }
  return { storageClass, encryption }
}

function readContentHeaders(headers: Headers): Record<string, string> {
  const result: Record<string, string> = {}
  for (const name of contentHeaders) {
    const value = headers[name]
    if (value !== undefined) result[name] = value
  }
  // aws-chunked is how the bytes travelled, not what they are.
  const encoding = result['content-encoding']
    ?.split(',')
    .map((token) => token.trim())
    .filter((token) => token !== 'aws-chunked')
    .join(',')
  delete result['content-encoding']
  if (encoding) result['content-encoding'] = encoding
  result['content-type'] ??= 'binary/octet-stream'
  return result
}

function readMetadata(headers: Headers): Record<string, string> {
  const metadata: Record<string, string> = {}
  let size = 0
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(metadataPrefix)) continue
    const short = name.slice(metadataPrefix.length)
    // A form or a query can name what no header could be called.
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(short)) {
      throw new S3Error('InvalidArgument', 'The name of a metadata entry is not valid', { ArgumentName: name })
    }
    metadata[short] = value
    size += short.length + Buffer.byteLength(value)
  }
  if (size > maxMetadataBytes) {
    throw new S3Error('MetadataTooLarge', undefined, { Size: String(size), MaxSizeAllowed: String(maxMetadataBytes) })
  }
  return metadata
}

/** The headers that tell of an object when it is read. */
export function describe(version: ObjectVersion): Record<string, string> {
  const headers: Record<string, string> = {
    etag: `"${version.etag}"`,
    'last-modified': new Date(version.lastModified).toUTCString(),
    'accept-ranges': 'bytes',
    'x-amz-server-side-encryption': version.encryption,
  }
  for (const [name, value] of Object.entries(version.headers)) headers[name] = headerText(value)
  for (const [name, value] of Object.entries(version.metadata)) headers[metadataPrefix + name] = headerText(value)
  if (version.storageClass !== 'STANDARD') headers['x-amz-storage-class'] = version.storageClass
  if (version.tags.length > 0) headers['x-amz-tagging-count'] = String(version.tags.length)
  return headers
}

/** Text beyond ASCII is sent as S3 does: encoded words of RFC 2047. */
function headerText(value: string): string {
  return /^[\t -~]*$/.test(value) ? value : `=?UTF-8?B?${Buffer.from(value).toString('base64')}?=`
}
