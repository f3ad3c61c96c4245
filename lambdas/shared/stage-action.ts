import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { stagingObjectKey } from '../../src/blobs/object-keys.ts'
import { presignPut } from '../../src/blobs/presign.ts'
import { STAGED_LIMIT_BYTES } from '../../src/limits.ts'
import { type Action, action } from './action.ts'
import { json } from './answer.ts'
import type { HandlerConfig } from './config.ts'
import { presigned } from './presigned.ts'

export const stageUpload = z.strictObject({
  size_bytes: z.int().min(1).max(STAGED_LIMIT_BYTES),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lowercase hex digits'),
})

/** A place in S3 for one request body that is too large for the gateway. */
export function stageAction({ s3, bucketName }: Pick<HandlerConfig, 's3' | 'bucketName'>): Action {
  return action(stageUpload, async ({ size_bytes, sha256 }, { scope }) => {
    const uploadId = randomUUID()
    const upload = await presignPut({
      s3,
      bucketName,
      objectKey: stagingObjectKey(scope, uploadId),
      size: size_bytes,
      sha256Hex: sha256,
      contentType: 'application/json',
      ifNoneMatch: '*',
    })
    return json(201, { upload_id: uploadId, ...presigned(upload) })
  })
}
