import { CopyObjectCommand, NoSuchKey, type S3Client } from '@aws-sdk/client-s3'
import pMap from 'p-map'
import { Pages } from '../sweep/pages.ts'
import type { Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'
import { blobObjectKey } from './object-keys.ts'

const COPY_CONCURRENCY = 16

/**
 * Gives each of the blobs that is condemned a version of its own, as an upload would, by copying it onto itself: for a
 * writer that comes to use blobs which it neither asked for nor uploads.
 * @returns false when a blob is gone, with the checkpoint that used it.
 */
export async function renewCondemned(
  stores: { table: Table; s3: S3Client; bucketName: string; scope: Scope },
  keys: readonly string[],
): Promise<boolean> {
  const { table, s3, bucketName, scope } = stores
  const condemned = await new Pages(table, scope, 'blobs').condemnedAmong(keys)
  const renewed = await pMap(
    condemned,
    (key) =>
      retryTransient(async () => {
        const objectKey = blobObjectKey(scope, key)
        try {
          await s3.send(
            new CopyObjectCommand({
              Bucket: bucketName,
              Key: objectKey,
              CopySource: `${bucketName}/${objectKey}`,
              ContentType: 'application/octet-stream',
              // S3 copies nothing onto itself unless something changes.
              MetadataDirective: 'REPLACE',
            }),
          )
          return true
        } catch (error) {
          if (error instanceof NoSuchKey) return false
          throw error
        }
      }),
    { concurrency: COPY_CONCURRENCY },
  )
  return !renewed.includes(false)
}
