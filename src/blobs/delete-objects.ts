import { type _Error, DeleteObjectsCommand, type ObjectIdentifier, type S3Client } from '@aws-sdk/client-s3'
import { retryTransient, TransientError } from '../table/transient.ts'

export interface DeleteObjectsInput {
  s3: S3Client
  bucketName: string
  /** At most 1,000. Without a version an object is hidden by a marker. */
  objects: ObjectIdentifier[]
  /** Told of each request that was answered. */
  onAnswer?: () => void
}

/**
 * Deletes objects, or versions of them, in one request, again where S3 asks to slow down in the middle of it; what is
 * gone is no failure. Tries all. @returns what S3 would not delete
 * @throws UnavailableError
 */
export async function deleteObjects(input: DeleteObjectsInput): Promise<_Error[]> {
  const { s3, bucketName, objects, onAnswer } = input
  const command = new DeleteObjectsCommand({ Bucket: bucketName, Delete: { Objects: objects, Quiet: true } })
  const { Errors = [] } = await retryTransient(async () => {
    const answer = await s3.send(command)
    onAnswer?.()
    if (answer.Errors?.some(({ Code }) => Code === 'SlowDown' || Code === 'InternalError')) {
      throw new TransientError('S3 asked to slow down in the middle of a delete.')
    }
    return answer
  })
  return Errors
}
