import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { uuidv7 } from 'uuidv7'
import { fileObjectKey } from '../blobs/object-keys.ts'
import { presignGet } from '../blobs/presign.ts'
import { INLINE_LIMIT_BYTES } from '../limits.ts'
import { retryTransient, TransientError } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'
import type { FilesBackend } from './backend.ts'
import { attachment } from './disposition.ts'

export interface S3BackendConfig {
  s3: S3Client
  bucketName: string
  scope: Scope
}

/** An id that sorts by the time of its making. */
export function newFileId(): string {
  return `file_${uuidv7().replaceAll('-', '')}`
}

/** Keeps files in the stack's own bucket, each in an object that is named by its id. */
export function createS3Backend({ s3, bucketName, scope }: S3BackendConfig): FilesBackend {
  const objectOf = (id: string) => ({ Bucket: bucketName, Key: fileObjectKey(scope, id) })
  return {
    async store({ mimeType }, bytes) {
      const id = newFileId()
      await retryTransient(() => s3.send(new PutObjectCommand({ ...objectOf(id), Body: bytes, ContentType: mimeType })))
      return { id, actions: [] }
    },
    async adopt(_content, objectKey) {
      return { id: objectKey.slice(objectKey.lastIndexOf('/') + 1), actions: [] }
    },
    async open({ id, sizeBytes, mimeType, filename }) {
      if (sizeBytes > INLINE_LIMIT_BYTES) {
        const { url } = await presignGet({
          s3,
          bucketName,
          objectKey: fileObjectKey(scope, id),
          responseContentType: mimeType,
          responseContentDisposition: attachment(filename),
        })
        return { kind: 'redirect', url }
      }
      const bytes = await readObject(s3, objectOf(id))
      return bytes && { kind: 'pieces', pieces: onePiece(bytes) }
    },
    async describe() {
      return null
    },
    async remove(id) {
      await retryTransient(() => s3.send(new DeleteObjectCommand(objectOf(id))))
    },
  }
}

/** The bytes of an object, or null. */
export function readObject(s3: S3Client, object: { Bucket: string; Key: string }): Promise<Uint8Array | null> {
  return retryTransient(async () => {
    try {
      const { Body } = await s3.send(new GetObjectCommand(object))
      if (!Body) throw new TransientError('S3 answered without a body.')
      return await Body.transformToByteArray()
    } catch (error) {
      if (error instanceof NoSuchKey) return null
      throw error
    }
  })
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
