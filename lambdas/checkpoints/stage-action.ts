import { randomUUID } from 'node:crypto'
import { stagingObjectKey } from '../../src/blobs/object-keys.ts'
import { presignPut } from '../../src/blobs/presign.ts'
import { type Action, action } from '../shared/action.ts'
import { json } from '../shared/answer.ts'
import type { HandlerConfig } from '../shared/config.ts'
import { presigned } from './blob-actions.ts'
import * as schemas from './schemas.ts'

/** A place in S3 for one request body that is too large for the gateway. */
export function stageAction({ s3, bucketName }: Pick<HandlerConfig, 's3' | 'bucketName'>): Action {
  return action(schemas.stageUpload, async ({ size_bytes, sha256 }, { scope }) => {
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
