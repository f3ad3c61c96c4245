import { DeleteObjectCommand, HeadObjectCommand, NotFound, type S3Client } from '@aws-sdk/client-s3'
import pMap from 'p-map'
import { blobObjectKey } from '../blobs/object-keys.ts'
import { Bodies } from '../checkpoints/bodies.ts'
import { ConflictError } from '../errors.ts'
import type { Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'
import { References } from './condemn.ts'
import { type Condemned, Pages } from './pages.ts'
import { finishBlobPages } from './scope-sweep.ts'

const CONCURRENCY = 32

export interface DeleteBlobsInput {
  table: Table
  s3: S3Client
  bucketName: string
  scope: Scope
  /** Milliseconds since the epoch. */
  now: () => number
}

/** What is in neither list has come to be used, and stays. */
export interface DeletedBlobs {
  /** What is gone, or never was. */
  deleted: string[]
  /** What goes with a later sweep, when the writer leases that are live now have ended; until then it counts as missing. */
  waiting: string[]
}

/**
 * Deletes blobs that no checkpoint uses, by the protocol of the sweep: a writer who was told that a blob is there does
 * not lose it. In the order of the keys that were given.
 * @throws ConflictError `blob_in_use`, before anything is deleted, when a checkpoint uses one of them.
 */
export async function deleteBlobs(input: DeleteBlobsInput, keys: readonly string[]): Promise<DeletedBlobs> {
  const { table, scope, s3, bucketName } = input
  const context = { table, scope, bodies: new Bodies(s3, bucketName, scope) }
  const wanted = [...new Set(keys)].sort()
  const counts = await new References(context).counts(wanted)
  const used = wanted.find((_key, index) => (counts[index] ?? 0) > 0)
  if (used !== undefined) {
    throw new ConflictError('blob_in_use', `A checkpoint uses ${used}. Nothing was deleted.`, {
      field: `keys.${keys.indexOf(used)}`,
    })
  }
  const found = await pMap(wanted, (key) => currentVersion(input, key), { concurrency: CONCURRENCY })
  const versions = found.filter((version) => version !== undefined)
  if (versions.length === 0) return { deleted: [...keys], waiting: [] }
  const pages = new Pages(table, scope, 'blobs')
  await pages.write(versions)
  const gone = await finishBlobPages(input)
  const there = new Set(versions.map(({ key }) => key))
  for (const key of gone) there.delete(key)
  const waiting = await pages.condemnedAmong([...there])
  return { deleted: keys.filter((key) => !there.has(key)), waiting: keys.filter((key) => waiting.has(key)) }
}

/** The version of a blob that reads answer with. In a bucket without versions it is deleted right here. */
async function currentVersion(
  { s3, bucketName, scope }: DeleteBlobsInput,
  key: string,
): Promise<Condemned | undefined> {
  const object = { Bucket: bucketName, Key: blobObjectKey(scope, key) }
  return retryTransient(async () => {
    try {
      const { VersionId, ContentLength = 0 } = await s3.send(new HeadObjectCommand(object))
      if (VersionId !== undefined) return { key, versionId: VersionId, size: ContentLength, current: true }
      await s3.send(new DeleteObjectCommand(object))
      return undefined
    } catch (error) {
      if (error instanceof NotFound) return undefined
      throw error
    }
  })
}
