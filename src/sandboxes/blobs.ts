import { HeadObjectCommand, NotFound } from '@aws-sdk/client-s3'
import pMap from 'p-map'
import { blobObjectKey } from '../blobs/object-keys.ts'
import { EXCHANGE_LIMIT } from '../limits.ts'
import { Pages } from '../sweep/pages.ts'
import { retryTransient } from '../table/transient.ts'
import type { SandboxContext } from './context.ts'

const CONCURRENCY = 32

/**
 * Those of the blobs that the holder of a writer lease may not refer to. They are looked for after their upload: a
 * condemned key counts as missing only until it was uploaded anew. The version that is there then stands on no page, and
 * a page that it comes to stand on waits for the lease.
 */
export async function missingBlobs(context: SandboxContext, keys: readonly string[]): Promise<string[]> {
  const missing: string[] = []
  for (let from = 0; from < keys.length; from += EXCHANGE_LIMIT) {
    const asked = keys.slice(from, from + EXCHANGE_LIMIT)
    const found = await context.blobs.headAll(asked)
    missing.push(...asked.filter((_key, index) => found[index] === null))
  }
  const { table, scope } = context
  // The pages before the bucket.
  const condemned = await new Pages(table, scope, 'blobs').versionsAmong(missing)
  const renewed = await pMap(
    condemned,
    async ([key, versions]) => {
      const version = await currentVersion(context, key)
      return version === undefined || versions.has(version) ? [] : [key]
    },
    { concurrency: CONCURRENCY },
  )
  const present = new Set(renewed.flat())
  return missing.filter((key) => !present.has(key))
}

async function currentVersion({ s3, bucketName, scope }: SandboxContext, key: string): Promise<string | undefined> {
  const command = new HeadObjectCommand({ Bucket: bucketName, Key: blobObjectKey(scope, key) })
  return retryTransient(async () => {
    try {
      return (await s3.send(command)).VersionId
    } catch (error) {
      if (error instanceof NotFound) return undefined
      throw error
    }
  })
}
