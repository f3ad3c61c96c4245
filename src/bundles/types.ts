import type { BlobInfo, PresignedRequest } from '../blobs/types.ts'
import type { SandboxSnapshotEntry } from '../checkpoints/types.ts'

/**
 * Bundles: small blobs of a workspace put together, so that a restore needs few requests. They are derived. Nothing is
 * kept because a bundle holds it, nothing is believed because it stands in one, and all may go at any time.
 */

export type SizedBlob = Pick<BlobInfo, 'key' | 'size'>

/** One object: the bytes of its blobs, one after the other and nothing else. */
export interface Bundle {
  /** Of the object, random: an id is never used for other bytes. */
  id: string
  /** In the order of their bytes. */
  blobs: readonly SizedBlob[]
}

/** A blob in a bundle. */
export interface BundleEntry extends SizedBlob {
  /** Where its bytes begin in the bundle. */
  offset: number
}

/** A bundle to download, and which of its blobs are wanted. Each is to be checked by its hash. */
export interface BundleDownload {
  id: string
  /** Bytes of the whole bundle. */
  size: number
  download: PresignedRequest
  /** By offset. */
  entries: BundleEntry[]
}

/** How to fetch the blobs of a snapshot. */
export interface SnapshotDownloads {
  bundles: BundleDownload[]
  /** Blobs that are in none of those bundles, at most 1,000. */
  blobs: Array<SizedBlob & { download: PresignedRequest }>
  /** Keys of blobs that are not there. */
  missing: string[]
  /** Further keys, whose downloads have to be asked for. */
  rest: string[]
}

export interface PlannedDownloads extends SnapshotDownloads {
  /** So many small blobs are in no bundle that bundles are worth building. */
  wantsBundles: boolean
}

/** Whose bundles: those of the sandboxes of one workspace key, or of a sandbox without a key. */
export type WorkspaceName = { workspaceKey: string } | { sandboxId: string }

/** What is known of a snapshot for its bundles. */
export interface BundledSnapshot {
  /** What keeps the bundles from being dropped. */
  checkpointId: string
  /** Milliseconds: of two snapshots the later one has the bundles. */
  createdAt: number
  files: ReadonlyArray<SandboxSnapshotEntry>
}

/** What a build came to. */
export interface BuiltBundles {
  /** How many bundles were written. */
  written: number
  /** How many were there before and stay. */
  kept: number
  /** Small blobs that are in no bundle: too few to be worth one, or not there, or the time was up. */
  left: number
}

/** The bundles of one scope. */
export interface BundleStore {
  /**
   * Puts the small blobs of a snapshot into bundles, as far as earlier ones do not hold them. Any number may run at
   * once, and each may be killed anywhere. Null: a newer snapshot of the workspace has its bundles.
   * @throws UnavailableError
   */
  build(workspace: WorkspaceName, snapshot: BundledSnapshot, timeIsUp?: () => boolean): Promise<BuiltBundles | null>
  /** How to fetch the blobs of a snapshot with few requests. @throws UnavailableError */
  downloads(
    workspace: WorkspaceName,
    snapshot: {
      files: ReadonlyArray<SandboxSnapshotEntry>
      artifacts: ReadonlyArray<{ blobKey: string; size: number }>
    },
  ): Promise<PlannedDownloads>
}
