import { createHash } from 'node:crypto'
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { bodyObjectKey } from '../blobs/object-keys.ts'
import type { Scope } from '../tenancy/scope.ts'
import { type EncodedCheckpoint, packedKeysLength } from './codec.ts'
import type { CheckpointMeta, CheckpointRecord } from './items.ts'

/** The bodies that are too large for an item: one object each, the packed keys first, so that a range reads them alone. */
export class Bodies {
  readonly #s3: S3Client
  readonly #bucketName: string
  readonly #scope: Scope

  constructor(s3: S3Client, bucketName: string, scope: Scope) {
    this.#s3 = s3
    this.#bucketName = bucketName
    this.#scope = scope
  }

  /** No reader knows the name before the transaction that commits it. */
  async put(threadHash: string, name: string, encoded: EncodedCheckpoint): Promise<void> {
    const bytes = Buffer.concat([encoded.keys, encoded.body])
    await this.#s3.send(
      new PutObjectCommand({
        ...this.#object(threadHash, name),
        Body: bytes,
        ChecksumSHA256: createHash('sha256').update(bytes).digest('base64'),
      }),
    )
  }

  /** Keys and body of a checkpoint, or undefined when its object is gone. */
  async read(record: CheckpointRecord): Promise<{ keys: Buffer; body: Buffer } | undefined> {
    if (record.bodyName === undefined) return record.inline
    const bytes = await this.#get(record.threadHash, record.bodyName)
    const length = keysLength(record)
    return bytes && { keys: bytes.subarray(0, length), body: bytes.subarray(length) }
  }

  /** The packed keys of a checkpoint without its body, or undefined when its object is gone. */
  async readKeys(record: CheckpointRecord): Promise<Buffer | undefined> {
    if (record.bodyName === undefined) return record.inline?.keys
    const length = keysLength(record)
    if (length === 0) return Buffer.alloc(0)
    return this.#get(record.threadHash, record.bodyName, `bytes=0-${length - 1}`)
  }

  async delete(threadHash: string, name: string): Promise<void> {
    await this.#s3.send(new DeleteObjectCommand(this.#object(threadHash, name)))
  }

  async #get(threadHash: string, name: string, range?: string): Promise<Buffer | undefined> {
    try {
      const { Body } = await this.#s3.send(
        new GetObjectCommand({ ...this.#object(threadHash, name), ...(range !== undefined && { Range: range }) }),
      )
      const bytes = await Body?.transformToByteArray()
      return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined
      throw error
    }
  }

  #object(threadHash: string, name: string) {
    return { Bucket: this.#bucketName, Key: bodyObjectKey(this.#scope, threadHash, name) }
  }
}

function keysLength(meta: CheckpointMeta): number {
  return packedKeysLength(meta.fileKeys + meta.artifactKeys)
}
