import { ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3'
import { OBJECT_PREFIXES } from '../blobs/object-keys.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'

/** The scopes that have objects in the bucket: those of uploads that no thread came to use have no item in the table. */
export async function* blobScopes(s3: S3Client, bucketName: string): AsyncGenerator<Scope> {
  for (const root of Object.values(OBJECT_PREFIXES)) {
    for await (const tenant of folders(s3, bucketName, root)) {
      for await (const project of folders(s3, bucketName, `${root}${tenant}/`)) yield { tenant, project }
    }
  }
}

/** The names that stand between `prefix` and the next slash. */
async function* folders(s3: S3Client, bucketName: string, prefix: string): AsyncGenerator<string> {
  let token: string | undefined
  do {
    const command = new ListObjectsV2Command({
      Bucket: bucketName,
      Prefix: prefix,
      Delimiter: '/',
      ContinuationToken: token,
    })
    const page = await retryTransient(() => s3.send(command))
    for (const { Prefix = '' } of page.CommonPrefixes ?? []) yield Prefix.slice(prefix.length, -1)
    token = page.NextContinuationToken
  } while (token !== undefined)
}
