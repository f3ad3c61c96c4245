import { ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3'
import { deleteObjects } from '../blobs/delete-objects.ts'
import { fileObjectPrefix } from '../blobs/object-keys.ts'
import { FILE_ITEMS, filesPartition } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'

export interface ClearObjectsInput {
  s3: S3Client
  bucketName: string
  table: Table
  scope: Scope
  now: () => number
  timeIsUp: () => boolean
}

/** No upload that began so long ago can still become a file: those are open for 12 hours. */
const LEFT_BEHIND_MS = 86_400_000

/**
 * Deletes the objects of a scope's files that no file has. Objects and files are walked through side by side, as both
 * come in the order of their ids.
 * @returns how many went
 * @throws what a list throws, or an Error when S3 would not delete some
 */
export async function clearObjects(input: ClearObjectsInput): Promise<number> {
  const { scope, now, timeIsUp } = input
  const prefix = fileObjectPrefix(scope)
  const files = idsOf(input)
  let file = await files.next()
  let cleared = 0
  for await (const objects of pagesOf(input, prefix)) {
    if (timeIsUp()) break
    const leftBehind: string[] = []
    for (const { id, uploadedAt } of objects) {
      while (!file.done && file.value < id) file = await files.next()
      const hasFile = !file.done && file.value === id
      if (!hasFile && uploadedAt < now() - LEFT_BEHIND_MS) leftBehind.push(prefix + id)
    }
    await deleteAll(input, leftBehind)
    cleared += leftBehind.length
  }
  return cleared
}

async function* idsOf({ table, scope }: ClearObjectsInput): AsyncGenerator<string, undefined> {
  for await (const items of table.query(filesPartition(scope), { prefix: FILE_ITEMS, attributes: ['sk'] })) {
    for (const { sk } of items) yield (sk as string).slice(FILE_ITEMS.length)
  }
  return undefined
}

async function* pagesOf({ s3, bucketName }: ClearObjectsInput, prefix: string) {
  let token: string | undefined
  do {
    const command = new ListObjectsV2Command({ Bucket: bucketName, Prefix: prefix, ContinuationToken: token })
    const page = await retryTransient(() => s3.send(command))
    yield (page.Contents ?? []).map(({ Key = '', LastModified }) => ({
      id: Key.slice(prefix.length),
      uploadedAt: LastModified?.getTime() ?? Number.POSITIVE_INFINITY,
    }))
    token = page.NextContinuationToken
  } while (token !== undefined)
}

async function deleteAll({ s3, bucketName }: ClearObjectsInput, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  const failures = await deleteObjects({ s3, bucketName, objects: keys.map((Key) => ({ Key })) })
  const [first] = failures
  if (first) throw new Error(`S3 would not delete ${failures.length} objects: ${first.Code} ${first.Message}`)
}
