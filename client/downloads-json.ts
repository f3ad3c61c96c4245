import type { BundleDownload, SnapshotDownloads } from '../src/bundles/types.ts'
import { type PresignedJson, readPresigned } from './storage.ts'

/** How the downloads of a snapshot stand in the API's JSON. */
export interface DownloadsJson {
  bundles: Array<
    PresignedJson & {
      bundle_id: string
      size_bytes: number
      entries: Array<{ key: string; size_bytes: number; offset: number }>
    }
  >
  blobs: Array<PresignedJson & { key: string; size_bytes: number }>
  missing: string[]
  rest: string[]
}

export function readDownloads({ bundles, blobs, missing, rest }: DownloadsJson): SnapshotDownloads {
  return {
    bundles: bundles.map(
      ({ bundle_id, size_bytes, entries, ...request }): BundleDownload => ({
        id: bundle_id,
        size: size_bytes,
        download: readPresigned(request),
        entries: entries.map(({ key, size_bytes, offset }) => ({ key, size: size_bytes, offset })),
      }),
    ),
    blobs: blobs.map(({ key, size_bytes, ...request }) => ({
      key,
      size: size_bytes,
      download: readPresigned(request),
    })),
    missing,
    rest,
  }
}
