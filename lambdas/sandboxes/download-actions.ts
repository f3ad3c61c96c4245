import type { BlobExchange } from '../../src/blobs/types.ts'
import type { BundleStore } from '../../src/bundles/types.ts'
import { workspaceOf } from '../../src/bundles/workspace.ts'
import { NotFoundError } from '../../src/errors.ts'
import type { SnapshotManifest } from '../../src/sandboxes/types.ts'
import { type Action, action } from '../shared/action.ts'
import { json } from '../shared/answer.ts'
import type { BundlesRequester } from '../shared/bundles-config.ts'
import { presigned } from '../shared/presigned.ts'
import type { Call } from '../shared/request.ts'
import { type Sandboxes, sandboxOf, snapshotSeqOf } from './actions.ts'
import { tryToRequest } from './bundled-store.ts'
import * as schemas from './schemas.ts'

/** What fetches the blobs of a request's scope. */
export interface Downloads extends BundlesRequester {
  blobs(call: Call): Pick<BlobExchange, 'prepareDownloads'>
  bundles(call: Call): Pick<BundleStore, 'downloads'>
}

/** How to fetch the blobs of a snapshot: all with few requests, or those that are named. */
export function downloadActions(
  sandboxes: Sandboxes,
  { blobs, bundles, requestBundles }: Downloads,
): Record<'snapshotDownloads', Action> {
  return {
    snapshotDownloads: action(schemas.snapshotDownloads, async ({ keys }, call) => {
      const snapshot = await sandboxes(call).getSnapshot(sandboxOf(call), snapshotSeqOf(call))
      if (!snapshot) throw new NotFoundError('There is no such snapshot.')
      if (keys !== undefined) return json(200, await namedDownloads(blobs(call), snapshot, keys))
      const plan = await bundles(call).downloads(workspaceOf(snapshot), snapshot)
      if (plan.wantsBundles) await tryToRequest({ requestBundles }, { scope: call.scope, ...nameOf(snapshot) })
      return json(200, {
        bundles: plan.bundles.map(({ id, size, download, entries }) => ({
          bundle_id: id,
          size_bytes: size,
          ...presigned(download),
          entries: entries.map((entry) => ({ key: entry.key, size_bytes: entry.size, offset: entry.offset })),
        })),
        blobs: plan.blobs.map(shownBlob),
        missing: plan.missing,
        rest: plan.rest,
      })
    }),
  }
}

/** What the snapshot does not hold is missing, whether it is there or not. */
async function namedDownloads(
  blobs: Pick<BlobExchange, 'prepareDownloads'>,
  { files, artifacts }: SnapshotManifest,
  keys: readonly string[],
) {
  const held = new Set([...files, ...artifacts].flatMap((entry) => ('blobKey' in entry ? entry.blobKey : [])))
  const asked = keys.filter((key) => held.has(key))
  const answers = asked.length === 0 ? [] : await blobs.prepareDownloads(asked)
  const found = answers.flatMap(({ key, ...answer }) =>
    answer.download === null ? [] : { key, size: answer.size, download: answer.download },
  )
  const there = new Set(found.map(({ key }) => key))
  return { bundles: [], blobs: found.map(shownBlob), missing: keys.filter((key) => !there.has(key)), rest: [] }
}

function shownBlob({ key, size, download }: { key: string; size: number; download: Parameters<typeof presigned>[0] }) {
  return { key, size_bytes: size, ...presigned(download) }
}

function nameOf({ sandboxId, snapshotSeq }: SnapshotManifest) {
  return { sandboxId, snapshotSeq }
}
