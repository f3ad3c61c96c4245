import { bundleObjectPrefix } from '../blobs/object-keys.ts'
import { type DeleteFailure, Versions } from '../sweep/versions.ts'
import { idKey } from '../table/keys.ts'
import { retryTransient } from '../table/transient.ts'
import { type BundleContext, listRecords, readSet, removeRecord } from './records.ts'

/**
 * What no record names may be of a build under way, or stand in a plan that a restore has in hand: neither lasts as
 * long as this.
 */
const UNNAMED_MS = 3_600_000

export interface SweptBundles {
  /** Records and objects. */
  cleared: number
  failures: DeleteFailure[]
  /** Requests to S3. */
  lists: number
  deletes: number
}

/**
 * Drops the bundles of workspaces whose snapshot is gone, and objects that no record names. Nothing rests on a bundle,
 * so this waits for nobody: a restore that comes too late takes the blobs.
 */
export async function sweepBundles(context: BundleContext, now: () => number): Promise<SweptBundles> {
  const versions = new Versions(context.s3, context.bucketName, bundleObjectPrefix(context.scope))
  const swept: SweptBundles = { cleared: 0, failures: [], lists: 0, deletes: 0 }
  const named = new Set<string>()
  for await (const records of listRecords(context)) {
    for (const record of records) {
      const id = idKey(context.scope, record.checkpointHash)
      const isUsed = (await retryTransient(() => context.table.get(id))) !== undefined
      const bundles = isUsed ? await readSet(context, record) : undefined
      if (bundles === undefined) {
        await removeRecord(context, record)
        swept.cleared += 1
        continue
      }
      named.add(record.setId)
      for (const { id } of bundles) named.add(id)
    }
  }
  // Listed after the records were read. What is old enough to go now was named by then, or by a build that is over.
  const before = now() - UNNAMED_MS
  for await (const listed of versions.list()) {
    const unnamed = listed.filter(({ key, current, uploadedAt }) => uploadedAt < before && !(current && named.has(key)))
    if (unnamed.length === 0) continue
    const failures = await versions.delete(unnamed)
    swept.failures.push(...failures.map(({ key, reason }) => ({ key, reason })))
    swept.cleared += unnamed.length - failures.length
  }
  return { ...swept, lists: versions.lists, deletes: versions.deletes }
}
