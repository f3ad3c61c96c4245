import { randomUUID } from 'node:crypto'
import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { stagingObjectKey } from '../../src/blobs/object-keys.ts'
import { presignGet } from '../../src/blobs/presign.ts'
import { INLINE_LIMIT_BYTES } from '../../src/limits.ts'
import { retryTransient } from '../../src/table/transient.ts'
import { json } from './answer.ts'
import type { ApiMiddleware, ApiRequest } from './request.ts'

/** Sends a JSON answer that is too large for the function's own answer by way of S3: 303 with a presigned GET. */
export function largeAnswer(s3: S3Client, bucketName: string): ApiMiddleware {
  const largeAnswerAfter = async (request: ApiRequest): Promise<void> => {
    const { response } = request
    const scope = request.event.call?.scope
    // A string has at least as many UTF-8 bytes as code units, and at most three times as many.
    if (!response || !scope || response.isBase64Encoded || response.body.length * 3 <= INLINE_LIMIT_BYTES) return
    const body = Buffer.from(response.body)
    if (body.length <= INLINE_LIMIT_BYTES) return
    const objectKey = stagingObjectKey(scope, `answer-${randomUUID()}`)
    const input = { Bucket: bucketName, Key: objectKey, Body: body, ContentType: 'application/json' }
    await retryTransient(() => s3.send(new PutObjectCommand(input)))
    const { url } = await presignGet({ s3, bucketName, objectKey, responseContentType: 'application/json' })
    request.response = json(303, { location: url, size_bytes: body.length }, { location: url })
  }
  return { after: largeAnswerAfter }
}
