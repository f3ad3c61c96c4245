import type { BlobExchange } from '../../src/blobs/types.ts'
import type { SnapshotDownloads } from '../../src/bundles/types.ts'
import type { SnapshotName } from '../../src/sandboxes/types.ts'

/** What a restore asks for the blobs of a snapshot. */
export type SnapshotDownloader = (name: SnapshotName, keys?: ReadonlyArray<string>) => Promise<SnapshotDownloads>

/**
 * The downloads of a snapshot's blobs, each by itself: from the plan once, as far as it has them, and then asked for.
 */
export function snapshotBlobs(
  downloads: SnapshotDownloader,
  name: SnapshotName,
  plan: Promise<SnapshotDownloads>,
): Pick<BlobExchange, 'prepareDownloads'> {
  const planned = plan.then(({ blobs }) => new Map(blobs.map((blob) => [blob.key, blob])))
  planned.catch(() => undefined)
  return {
    async prepareDownloads(keys) {
      const unused = await planned
      const found = new Map<string, SnapshotDownloads['blobs'][number]>()
      for (const key of keys) {
        const blob = unused.get(key)
        if (blob) found.set(key, blob)
        unused.delete(key)
      }
      const others = keys.filter((key) => !found.has(key))
      if (others.length > 0) for (const blob of (await downloads(name, others)).blobs) found.set(blob.key, blob)
      return keys.map((key) => found.get(key) ?? { key, download: null })
    },
  }
}
