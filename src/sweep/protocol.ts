/**
 * The decisions of the sweep's protocol, apart from the storage that they are about. They rest on five facts:
 *
 * 1. What is condemned is a *version* of an object, written on a page before anything else happens to it. Whoever asks
 *    for its key from then on is told that it is missing, and uploads a version of its own, which no page names. They
 *    look at the pages first, and into the bucket after.
 * 2. Who was told before that the key is there holds the writer lease of its thread, and needs it until its commit. The
 *    sweep waits until every lease that was live when the pages were there has ended: by then that commit has happened,
 *    or never can.
 * 3. After that the references are read again, and what is referenced is spared. While the page is there, none can come
 *    to refer to a version on it: a thread that refers to one keeps doing so, in views of one instant each; a fork
 *    makes versions of its own.
 * 4. What goes is decided once a page, by whichever sweep writes its decision first, and while the page is there: two
 *    sweeps may have read the references at different times.
 * 5. What goes is the version that the page names, whenever the delete arrives: a delete that was delayed finds nothing
 *    else under that name.
 */

/** A version of an object in the bucket, as it is listed. */
export interface ListedVersion {
  key: string
  versionId: string
  size: number
  /** Milliseconds since the epoch, by the bucket's clock. */
  uploadedAt: number
  /** Whether reads of the key answer with it. */
  current: boolean
  /** Of a delete that named no version: it hides those before it, and has no bytes. */
  marker?: boolean
}

/** Whether a version goes on a page: old enough, strictly, and used by no checkpoint or hidden by a newer version. */
export function condemns(
  version: Pick<ListedVersion, 'uploadedAt' | 'current'>,
  referenced: boolean,
  before: number,
): boolean {
  return version.uploadedAt < before && (!referenced || !version.current)
}

/** What a capture that asks for a key is told. */
export function isPresent(stored: boolean, condemned: boolean): boolean {
  return stored && !condemned
}

/** How a capture that was told `missing` uploads: a condemned key gets a new version even though it is stored. */
export function uploadReplaces(condemned: boolean): boolean {
  return condemned
}

/** A lease as it stood when the pages were there. */
export interface SeenLease {
  threadHash: string
  fence: number
}

/**
 * Whether a lease that was seen live can commit nothing any more. One that is past its end may still be good by a clock
 * that is behind ours, until it is taken off the thread.
 */
export function leaseEnded(seen: SeenLease, thread: { fence: number; owner?: string } | undefined): boolean {
  return !thread || thread.fence !== seen.fence || thread.owner === undefined
}

/** Whether a version on a page goes, now that the leases have ended and the references were read again. */
export function deletes(version: Pick<ListedVersion, 'current'>, referenced: boolean): boolean {
  return !referenced || !version.current
}
