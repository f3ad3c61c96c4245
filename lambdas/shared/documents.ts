import { GetObjectCommand, NoSuchKey, type S3Client } from '@aws-sdk/client-s3'
import { stagingObjectKey } from '../../src/blobs/object-keys.ts'
import { InvalidInputError, PayloadTooLargeError } from '../../src/errors.ts'
import { STAGED_LIMIT_BYTES } from '../../src/limits.ts'
import { retryTransient } from '../../src/table/transient.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import { checkJsonLimits, decodeUtf8, parseJson } from './body-text.ts'
import type { ApiMiddleware, ApiRequest } from './request.ts'

const uploadIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Parses the body, in which documents of the caller's own stand: every key is kept as it is, `__proto__` too, which
 * `JSON.parse` makes an ordinary property. A body of `upload_id` alone stands for the body that was uploaded under it.
 * @throws InvalidInputError, PayloadTooLargeError
 */
export function documents(s3: S3Client, bucketName: string): ApiMiddleware {
  const documentsBefore = async ({ event }: ApiRequest): Promise<void> => {
    let body = parseJson(event.body ?? '')
    const scope = event.call?.scope
    if (scope && event.httpMethod !== 'GET' && isUploadReference(body))
      body = parseJson(checkJsonLimits(await readUpload(s3, bucketName, scope, body.upload_id)))
    event.call = { ...event.call, body }
  }
  return { before: documentsBefore }
}

function isUploadReference(body: unknown): body is { upload_id: unknown } {
  return typeof body === 'object' && body !== null && Object.keys(body).join() === 'upload_id'
}

async function readUpload(s3: S3Client, bucketName: string, scope: Scope, uploadId: unknown): Promise<string> {
  if (typeof uploadId !== 'string' || !uploadIdPattern.test(uploadId)) throw unknownUpload()
  const bytes = await retryTransient(() => readObject(s3, bucketName, stagingObjectKey(scope, uploadId)))
  if (!bytes) throw unknownUpload()
  return decodeUtf8(bytes)
}

async function readObject(s3: S3Client, bucketName: string, objectKey: string): Promise<Uint8Array | undefined> {
  try {
    const { Body, ContentLength = 0 } = await s3.send(new GetObjectCommand({ Bucket: bucketName, Key: objectKey }))
    if (ContentLength > STAGED_LIMIT_BYTES) throw tooLarge()
    return await Body?.transformToByteArray()
  } catch (error) {
    if (error instanceof NoSuchKey) return undefined
    throw error
  }
}

/** The same for an upload of another scope, an unfinished one and one that never was. */
function unknownUpload(): InvalidInputError {
  return new InvalidInputError('upload_id', 'There is no finished upload of this id.')
}

function tooLarge(): PayloadTooLargeError {
  return new PayloadTooLargeError(`An uploaded body may have at most ${STAGED_LIMIT_BYTES} bytes.`, {
    field: 'upload_id',
  })
}
