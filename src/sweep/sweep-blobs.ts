import { GetBucketVersioningCommand } from '@aws-sdk/client-s3'
import { BLOB_PREFIXES } from '../blobs/keys.ts'
import type { SandboxBlobReference } from '../checkpoints/types.ts'
import { SandkeepError } from '../errors.ts'
import { commonOrigin, type StoreOrigin } from '../own-stores.ts'
import { Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import { sweepScope } from './scope-sweep.ts'

export interface SweepBlobsInput {
  checkpoints: { listBlobReferences(): Promise<SandboxBlobReference[]> }
  blobs: {
    /** All keys with the prefix; `uploadedAt` in milliseconds since the epoch. */
    list(prefix: string): Promise<Array<{ key: string; uploadedAt: number }>>
    delete(key: string): Promise<unknown>
  }
  /** A blob goes when it is older than this, strictly. Longer than the longest capture. */
  olderThanMs: number
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: () => number
}

/** Some deletes failed, after all were tried. */
export class SweepIncompleteError extends SandkeepError {
  /** The keys that did go, in listing order. */
  readonly deleted: string[]
  readonly failures: Array<{ key: string; cause: unknown }>

  constructor(deleted: string[], failures: Array<{ key: string; cause: unknown }>) {
    super(503, 'sweep_incomplete', `${failures.length} blobs could not be deleted; ${deleted.length} were.`, {
      cause: failures[0]?.cause,
    })
    this.deleted = deleted
    this.failures = failures
  }
}

/**
 * Deletes the blobs under `sandbox-files/` and `sandbox-artifacts/` that no checkpoint uses.
 *
 * On stores of this package, `createBlobStore` and `createCheckpointStore` of one scope over a bucket with versions, it
 * runs at any time: what writers that hold a lease just now may come to use is spared, and goes with a later sweep. On
 * any other stores run it when nothing is captured: a capture that comes to use an old unused blob while the sweep runs
 * would lose it.
 *
 * The blobs are listed before the references are read: one that is uploaded and used in between is not in the list.
 * @returns the deleted keys, in listing order
 * @throws RangeError for a bad `olderThanMs`; what a failed list or read of references throws, before anything is
 *   deleted; SweepIncompleteError when deletes failed
 */
export async function sweepSandboxBlobs(input: SweepBlobsInput): Promise<string[]> {
  const { checkpoints, blobs, olderThanMs, now = Date.now } = input
  if (!(olderThanMs >= 0)) throw new RangeError('olderThanMs must be a number of at least 0.')
  const startedAt = now()
  const listed: Blob[] = []
  // Not spread into `push`: a call takes no more than about 100,000 arguments.
  for (const prefix of BLOB_PREFIXES) for (const blob of await blobs.list(prefix)) listed.push(blob)
  const origin = commonOrigin(checkpoints, blobs)
  const { deleted, failures } =
    origin && (await hasVersions(origin))
      ? await sweepOwn(origin, listed, olderThanMs, startedAt)
      : await sweepAny(input, listed, startedAt - olderThanMs)
  if (failures.length > 0) throw new SweepIncompleteError(deleted, failures)
  return deleted
}

interface Blob {
  key: string
  uploadedAt: number
}

interface Outcome {
  deleted: string[]
  failures: Array<{ key: string; cause: unknown }>
}

async function sweepAny({ checkpoints, blobs }: SweepBlobsInput, listed: Blob[], before: number): Promise<Outcome> {
  const used = new Set((await checkpoints.listBlobReferences()).map(({ key }) => key))
  const outcome: Outcome = { deleted: [], failures: [] }
  for (const { key, uploadedAt } of listed) {
    if (uploadedAt >= before || used.has(key) || !BLOB_PREFIXES.some((prefix) => key.startsWith(prefix))) continue
    try {
      await blobs.delete(key)
      outcome.deleted.push(key)
    } catch (cause) {
      outcome.failures.push({ key, cause })
    }
  }
  return outcome
}

/** The protocol of the scheduled sweep. What was not listed is not told: it had been deleted before. */
async function sweepOwn(
  { dynamodb, s3, tableName, bucketName, scope }: StoreOrigin,
  listed: Blob[],
  olderThanMs: number,
  startedAt: number,
): Promise<Outcome> {
  const { deletedBlobs, failures } = await sweepScope({
    table: new Table(dynamodb, tableName),
    ...{ s3, bucketName, scope, olderThanMs },
    // What was uploaded after the list is not older.
    now: () => startedAt,
    dryRun: false,
    waitMs: 0,
  })
  const gone = new Set(deletedBlobs)
  return {
    deleted: listed.map(({ key }) => key).filter((key) => gone.has(key)),
    failures: failures.map(({ key, reason }) => ({ key, cause: new Error(reason) })),
  }
}

/** Without versions a delete that arrives late could take what was uploaded since. */
async function hasVersions({ s3, bucketName }: StoreOrigin): Promise<boolean> {
  const command = new GetBucketVersioningCommand({ Bucket: bucketName })
  const { Status } = await retryTransient(() => s3.send(command))
  return Status === 'Enabled'
}
