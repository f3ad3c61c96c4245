import { createHash, randomBytes } from 'node:crypto'
import { GetObjectCommand, ListObjectsV2Command, NoSuchKey, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { deleteObjects } from '../blobs/delete-objects.ts'
import { presignGet } from '../blobs/presign.ts'
import type { PresignedRequest } from '../blobs/types.ts'
import { retryTransient, TransientError } from '../table/transient.ts'
import type { ByteRange } from './types.ts'

export interface ListedObject {
  key: string
  size: number
  /** Milliseconds since the epoch, by the bucket's clock. */
  uploadedAt: number
}

/** An object that S3 would not delete, and its reason. */
export interface ObjectFailure {
  key: string
  reason: string
}

/** The objects of a bucket that never change once they are there. Counts its listings and deletes. */
export class MemoryObjects {
  readonly #s3: S3Client
  readonly #bucketName: string
  lists = 0
  deletes = 0

  constructor(s3: S3Client, bucketName: string) {
    this.#s3 = s3
    this.#bucketName = bucketName
  }

  async put(key: string, bytes: Uint8Array, contentType: string): Promise<void> {
    const command = new PutObjectCommand({
      ...this.#object(key),
      Body: bytes,
      ContentType: contentType,
      ChecksumSHA256: createHash('sha256').update(bytes).digest('base64'),
    })
    await retryTransient(() => this.#s3.send(command))
  }

  /** Null: there is no such object. */
  async get(key: string, range?: ByteRange): Promise<Uint8Array | null> {
    const command = new GetObjectCommand({
      ...this.#object(key),
      ...(range && { Range: `bytes=${range.start}-${range.end}` }),
    })
    return retryTransient(async () => {
      try {
        const { Body } = await this.#s3.send(command)
        if (!Body) throw new TransientError('S3 answered without a body.')
        return await Body.transformToByteArray()
      } catch (error) {
        if (error instanceof NoSuchKey) return null
        throw error
      }
    })
  }

  presign(key: string, contentType: string): Promise<PresignedRequest> {
    const object = { s3: this.#s3, bucketName: this.#bucketName, objectKey: key }
    return presignGet({ ...object, responseContentType: contentType })
  }

  /** The objects whose keys begin with `prefix`, behind the key `after`, in the order of the keys, a page (1,000) at a time. */
  async *list(prefix: string, after?: string): AsyncGenerator<ListedObject[]> {
    let token: string | undefined
    do {
      const command = new ListObjectsV2Command({
        Bucket: this.#bucketName,
        Prefix: prefix,
        ContinuationToken: token,
        ...(after !== undefined && { StartAfter: after }),
      })
      const page = await retryTransient(() => this.#s3.send(command))
      this.lists += 1
      yield (page.Contents ?? []).map(({ Key = '', Size = 0, LastModified }) => ({
        key: Key,
        size: Size,
        uploadedAt: LastModified?.getTime() ?? 0,
      }))
      token = page.NextContinuationToken
    } while (token !== undefined)
  }

  /** Deletes up to 1,000 objects. Tries all, and tells which S3 would not delete. */
  async delete(keys: readonly string[]): Promise<ObjectFailure[]> {
    if (keys.length === 0) return []
    const errors = await deleteObjects({
      s3: this.#s3,
      bucketName: this.#bucketName,
      objects: keys.map((Key) => ({ Key })),
      onAnswer: () => {
        this.deletes += 1
      },
    })
    return errors.map(({ Key = '', Code = '', Message = '' }) => ({ key: Key, reason: `${Code}: ${Message}` }))
  }

  #object(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucketName, Key: key }
  }
}

/** A name for an object that belongs to a generation of a task, and that no other object has. */
export function newObjectName(generation: string): string {
  return `${generation}-${randomBytes(8).toString('hex')}`
}

/** The generation that an object belongs to, by its name. */
export function generationOf(objectName: string): string {
  return objectName.slice(0, objectName.indexOf('-'))
}

export function newGeneration(): string {
  return randomBytes(8).toString('hex')
}
