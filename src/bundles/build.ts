import { randomUUID } from 'node:crypto'
import { HeadObjectCommand, NotFound } from '@aws-sdk/client-s3'
import pMap from 'p-map'
import { blobHash } from '../blobs/keys.ts'
import { bundleObjectKey } from '../blobs/object-keys.ts'
import type { BlobStore } from '../blobs/types.ts'
import { retryTransient } from '../table/transient.ts'
import { hashBytes, hashText } from '../text.ts'
import { planBundles } from './plan.ts'
import {
  type BundleContext,
  putObject,
  readRecord,
  readSet,
  replaceRecord,
  workspaceHash,
  writeSet,
} from './records.ts'
import type { BuiltBundles, Bundle, BundledSnapshot, SizedBlob, WorkspaceName } from './types.ts'

export interface BuildContext extends BundleContext {
  readonly blobs: Pick<BlobStore, 'get'>
}

/** How many blobs are read at a time; one bundle is in memory. */
const READ_CONCURRENCY = 32
const HEAD_CONCURRENCY = 16
/** How often a build begins anew because another one was first. */
const MAX_ATTEMPTS = 4

/**
 * Bundles are written first, under names that nobody knows; then the list of them; then one conditional write makes
 * that list the workspace's. So a build that is killed leaves only objects for the sweep, and of two at once the second
 * begins anew with the bundles of the first.
 */
export async function buildBundles(
  context: BuildContext,
  workspace: WorkspaceName,
  { checkpointId, createdAt, files }: BundledSnapshot,
  timeIsUp: () => boolean,
): Promise<BuiltBundles | null> {
  const hash = workspaceHash(workspace)
  const blobs = files.flatMap((entry) => (entry.kind === 'file' ? { key: entry.blobKey, size: entry.size } : []))
  // What an attempt before has written is as good as an earlier bundle.
  let own: Bundle[] = []
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const record = await readRecord(context, hash)
    if (record && record.savedAt > createdAt) return null
    const earlier = (record && (await readSet(context, record))) ?? []
    const plan = planBundles(blobs, [...(await presentBundles(context, earlier)), ...own])
    const written = await writeBundles(context, plan.make, timeIsUp)
    own = [...own, ...written]
    const bundles = [...plan.keep, ...written]
    const checkpointHash = hashText(checkpointId)
    const isSame = record !== undefined && sameBundles(bundles, earlier)
    const result = {
      written: written.length,
      kept: plan.keep.length,
      left: plan.left.length + countBlobs(plan.make) - countBlobs(written.map(({ blobs }) => blobs)),
    }
    if (isSame && record.checkpointHash === checkpointHash) return result
    if (!record && bundles.length === 0) return result
    const setId = isSame ? record.setId : await writeSet(context, bundles)
    const next = { workspaceHash: hash, setId, checkpointHash, savedAt: createdAt }
    if (await replaceRecord(context, record, next)) return result
  }
  // Others were faster each time: theirs is newer.
  return null
}

/** Those of the bundles whose objects are there, in their sizes: one that is gone is built anew. */
async function presentBundles(context: BundleContext, bundles: readonly Bundle[]): Promise<Bundle[]> {
  const present = await pMap(bundles, (bundle) => isPresent(context, bundle), { concurrency: HEAD_CONCURRENCY })
  return bundles.filter((_bundle, index) => present[index])
}

async function isPresent({ s3, bucketName, scope }: BundleContext, { id, blobs }: Bundle): Promise<boolean> {
  const command = new HeadObjectCommand({ Bucket: bucketName, Key: bundleObjectKey(scope, id) })
  return retryTransient(async () => {
    try {
      const { ContentLength } = await s3.send(command)
      return ContentLength === blobs.reduce((sum, { size }) => sum + size, 0)
    } catch (error) {
      if (error instanceof NotFound) return false
      throw error
    }
  })
}

async function writeBundles(
  context: BuildContext,
  make: ReadonlyArray<readonly SizedBlob[]>,
  timeIsUp: () => boolean,
): Promise<Bundle[]> {
  const written: Bundle[] = []
  for (const wanted of make) {
    if (timeIsUp()) break
    const contents = await pMap(wanted, (blob) => readBlob(context.blobs, blob), { concurrency: READ_CONCURRENCY })
    const found = contents.filter((bytes) => bytes !== undefined)
    if (found.length === 0) continue
    const id = randomUUID()
    await putObject(context, id, Buffer.concat(found))
    written.push({ id, blobs: wanted.filter((_blob, index) => contents[index] !== undefined) })
  }
  return written
}

/** The bytes of a blob, if they are what its key and size say. */
async function readBlob(blobs: Pick<BlobStore, 'get'>, { key, size }: SizedBlob): Promise<Uint8Array | undefined> {
  return retryTransient(async () => {
    const blob = await blobs.get(key)
    if (blob?.size !== size) return undefined
    const bytes = new Uint8Array(await blob.arrayBuffer())
    return bytes.length === size && hashBytes(bytes) === blobHash(key) ? bytes : undefined
  })
}

function sameBundles(left: readonly Bundle[], right: readonly Bundle[]): boolean {
  const ids = new Set(right.map(({ id }) => id))
  return left.length === right.length && left.every(({ id }) => ids.has(id))
}

function countBlobs(groups: ReadonlyArray<readonly SizedBlob[]>): number {
  return groups.reduce((sum, { length }) => sum + length, 0)
}
