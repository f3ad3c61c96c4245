import type { S3Client } from '@aws-sdk/client-s3'
import { PRESIGNED_SECONDS } from '../limits.ts'
import { presigningTo } from './presigner.ts'
import type { PresignedRequest } from './types.ts'

export interface PresignPutInput {
  s3: S3Client
  bucketName: string
  objectKey: string
  /** Bytes; S3 refuses any other length. */
  size: number
  /** S3 refuses bytes that do not hash to it. Without it, it takes any of that size. */
  sha256Hex?: string | undefined
  /** Default `application/octet-stream`. */
  contentType?: string
  /** `*`: S3 answers 412 when the object is there already. */
  ifNoneMatch?: '*'
}

// S3 ignores a checksum that stands in the query, where the presigner would move it: it has to be a signed header.
const unhoistableHeaders = new Set(['x-amz-checksum-sha256'])
const signedOnPut = new Set(['host', 'content-length', 'content-type', 'if-none-match', 'x-amz-checksum-sha256'])

/** An upload of one length and type, and of exactly one content where its SHA-256 is known. Holds for `PRESIGNED_SECONDS`. */
export async function presignPut(input: PresignPutInput): Promise<PresignedRequest> {
  const contentType = input.contentType ?? 'application/octet-stream'
  const { sha256Hex } = input
  const headers = {
    'content-length': String(input.size),
    'content-type': contentType,
    ...(sha256Hex !== undefined && { 'x-amz-checksum-sha256': Buffer.from(sha256Hex, 'hex').toString('base64') }),
    ...(input.ifNoneMatch && { 'if-none-match': input.ifNoneMatch }),
  }
  const { signingDate, expiresAt } = validity()
  const { presign } = await presigningTo(input.s3, input.bucketName)
  const url = await presign(
    { method: 'PUT', objectKey: input.objectKey, headers, query: {} },
    { expiresIn: PRESIGNED_SECONDS, signingDate, signableHeaders: signedOnPut, unhoistableHeaders },
  )
  return { method: 'PUT', url, headers, expiresAt }
}

export interface PresignGetInput {
  s3: S3Client
  bucketName: string
  objectKey: string
  /** The content type of the answer, when it is not to be the stored one. */
  responseContentType?: string
  /** The `content-disposition` of the answer: ASCII. */
  responseContentDisposition?: string
}

/** A download of one object. Holds for `PRESIGNED_SECONDS`. */
export async function presignGet(input: PresignGetInput): Promise<PresignedRequest> {
  const { signingDate, expiresAt } = validity()
  const { presign } = await presigningTo(input.s3, input.bucketName)
  const { responseContentType: type, responseContentDisposition: disposition } = input
  const query: Record<string, string> = {
    ...(type !== undefined && { 'response-content-type': type }),
    ...(disposition !== undefined && { 'response-content-disposition': disposition }),
  }
  const url = await presign(
    { method: 'GET', objectKey: input.objectKey, headers: {}, query },
    { expiresIn: PRESIGNED_SECONDS, signingDate },
  )
  return { method: 'GET', url, headers: {}, expiresAt }
}

/** A signature's date has whole seconds. */
function validity(): { signingDate: Date; expiresAt: number } {
  const signedAt = Math.floor(Date.now() / 1000) * 1000
  return { signingDate: new Date(signedAt), expiresAt: signedAt + PRESIGNED_SECONDS * 1000 }
}
