import { createHash, randomUUID } from 'node:crypto'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { GetObjectCommand, HeadObjectCommand, NoSuchKey, NotFound, type S3Client } from '@aws-sdk/client-s3'
import { presignPut } from '../blobs/presign.ts'
import type { PresignedRequest } from '../blobs/types.ts'
import { uploadKey, uploadPartition } from '../table/keys.ts'
import { TABLE } from '../table/schema.ts'
import { type Item, Table, type TransactAction } from '../table/table.ts'
import { retryTransient, TransientError } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'

export interface UploadsConfig {
  dynamodb: DynamoDBClient
  s3: S3Client
  tableName: string
  bucketName: string
  scope: Scope
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: (() => number) | undefined
}

export interface UploadStart {
  /** Which service's upload it is. */
  purpose: string
  /** What the bytes are for, as the service writes it. */
  target: string
  /** A key that no object has had. */
  objectKey: string
  sizeBytes: number
  contentType: string
  /** Hex, in lower case. Without it the bytes are hashed when they are there. */
  sha256?: string | undefined
  /** The owner text of who began it. */
  by: string
}

export interface UploadRecord extends UploadStart {
  uploadId: string
  startedAt: number
  /** What it came to when it was completed, as the service wrote it. */
  result?: string
}

/** Uploads that go straight to the bucket, and count for nothing before they are completed. */
export interface Uploads {
  /** Begins an upload: a request for the holder to send, which holds for 15 minutes. */
  start(upload: UploadStart): Promise<{ uploadId: string; request: PresignedRequest }>
  /** An upload of the purpose that was begun less than 12 hours ago, completed or not. */
  open(uploadId: string, purpose: string): Promise<UploadRecord | null>
  /** The hash (hex) of the bytes in the bucket. Null: they are not there, or not those that were announced. */
  verify(record: UploadRecord): Promise<{ sha256: string } | null>
  /**
   * What completes the upload, once, within the transaction that uses its bytes. Refused when it is completed already:
   * then `open` tells its result.
   */
  completion(record: UploadRecord, result: string): TransactAction
}

/** Well before the sweep takes the bytes of what was never completed for left behind. */
const OPEN_MS = 12 * 3_600_000
const KEPT_MS = 48 * 3_600_000
const idPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The uploads of one scope. */
export function createUploads(config: UploadsConfig): Uploads {
  const { s3, bucketName, scope, now = Date.now } = config
  const table = new Table(config.dynamodb, config.tableName)
  return {
    async start(upload) {
      const uploadId = randomUUID()
      const startedAt = now()
      const item = {
        ...uploadKey(scope, uploadId),
        ...upload,
        startedAt,
        [TABLE.ttl]: Math.ceil((startedAt + KEPT_MS) / 1000),
      }
      const request = await presignPut({
        s3,
        bucketName,
        objectKey: upload.objectKey,
        size: upload.sizeBytes,
        sha256Hex: upload.sha256,
        contentType: upload.contentType,
        ifNoneMatch: '*',
      })
      await retryTransient(() => table.put(item))
      return { uploadId, request }
    },
    async open(uploadId, purpose) {
      if (!idPattern.test(uploadId)) return null
      const item = await retryTransient(() => table.get(uploadKey(scope, uploadId)))
      if (item?.purpose !== purpose) return null
      const record = readUpload(item)
      return now() - record.startedAt < OPEN_MS ? record : null
    },
    verify: (record) => verify(s3, bucketName, record),
    completion: ({ uploadId }, result) =>
      table.transactUpdate(uploadKey(scope, uploadId), {
        expression: 'SET #result = :result',
        condition: 'attribute_exists(pk) AND attribute_not_exists(#result)',
        names: { '#result': 'result' },
        values: { ':result': result },
      }),
  }
}

/** Removes what nobody can complete any more, should DynamoDB not have done so. The bytes are the services' to clear. */
export async function removeOldUploads(table: Table, scope: Scope, now: number): Promise<number> {
  let removed = 0
  for await (const items of table.query(uploadPartition(scope), { attributes: ['sk', 'startedAt'] })) {
    for (const { sk, startedAt } of items) {
      if (now - (startedAt as number) < KEPT_MS) continue
      await retryTransient(() => table.delete(uploadKey(scope, sk as string)))
      removed += 1
    }
  }
  return removed
}

async function verify(
  s3: S3Client,
  bucketName: string,
  { objectKey, sizeBytes, sha256 }: UploadRecord,
): Promise<{ sha256: string } | null> {
  const object = { Bucket: bucketName, Key: objectKey }
  return retryTransient(async () => {
    try {
      const head = await s3.send(new HeadObjectCommand({ ...object, ChecksumMode: 'ENABLED' }))
      if ((head.ContentLength ?? 0) !== sizeBytes) return null
      const stored = head.ChecksumSHA256 && Buffer.from(head.ChecksumSHA256, 'base64').toString('hex')
      const actual = stored || (await hashObject(s3, object))
      return sha256 === undefined || sha256 === actual ? { sha256: actual } : null
    } catch (error) {
      if (error instanceof NotFound || error instanceof NoSuchKey) return null
      throw error
    }
  })
}

async function hashObject(s3: S3Client, object: { Bucket: string; Key: string }): Promise<string> {
  const { Body } = await s3.send(new GetObjectCommand(object))
  if (!Body) throw new TransientError('S3 answered without a body.')
  const hash = createHash('sha256')
  for await (const chunk of Body.transformToWebStream() as ReadableStream<Uint8Array>) hash.update(chunk)
  return hash.digest('hex')
}

function readUpload(item: Item): UploadRecord {
  const { pk: _pk, sk, [TABLE.ttl]: _ttl, ...record } = item
  return { ...(record as unknown as UploadStart & { startedAt: number; result?: string }), uploadId: sk as string }
}
