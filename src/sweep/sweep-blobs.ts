import { BLOB_PREFIXES } from '../blobs/keys.ts'
import type { SandboxBlobReference } from '../checkpoints/types.ts'
import { SandkeepError } from '../errors.ts'

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
 * Deletes the blobs under `sandbox-files/` and `sandbox-artifacts/` that no checkpoint uses. Run it when nothing is
 * captured: a capture that comes to use an old unused blob while the sweep runs would lose it.
 *
 * The blobs are listed before the references are read: one that is uploaded and used in between is not in the list.
 * @returns the deleted keys, in listing order
 * @throws RangeError for a bad `olderThanMs`; what a failed list or read of references throws, before anything is
 *   deleted; SweepIncompleteError when deletes failed
 */
export async function sweepSandboxBlobs(input: SweepBlobsInput): Promise<string[]> {
  const { checkpoints, blobs, olderThanMs, now = Date.now } = input
  if (!(olderThanMs >= 0)) throw new RangeError('olderThanMs must be a number of at least 0.')
  const before = now() - olderThanMs
  const listed: Array<{ key: string; uploadedAt: number }> = []
  // Not spread into `push`: a call takes no more than about 100,000 arguments.
  for (const prefix of BLOB_PREFIXES) for (const blob of await blobs.list(prefix)) listed.push(blob)
  const used = new Set((await checkpoints.listBlobReferences()).map(({ key }) => key))
  const deleted: string[] = []
  const failures: Array<{ key: string; cause: unknown }> = []
  for (const { key, uploadedAt } of listed) {
    if (uploadedAt >= before || used.has(key) || !BLOB_PREFIXES.some((prefix) => key.startsWith(prefix))) continue
    try {
      await blobs.delete(key)
      deleted.push(key)
    } catch (cause) {
      failures.push({ key, cause })
    }
  }
  if (failures.length > 0) throw new SweepIncompleteError(deleted, failures)
  return deleted
}
