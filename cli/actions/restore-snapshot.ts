import type { SnapshotManifest, SnapshotName } from '../../src/sandboxes/types.ts'
import { MissingError } from '../errors.ts'
import type { Transport } from '../transfer/transport.ts'
import type { ProtectedPaths } from '../workspace/protected-paths.ts'
import type { Restored } from '../workspace/restore.ts'
import { type SnapshotDownloader, snapshotBlobs } from '../workspace/snapshot-blobs.ts'
import type { StatCache } from '../workspace/stat-cache.ts'

export interface RestoreSnapshotInput {
  sandboxes: {
    getSnapshot(name: SnapshotName): Promise<SnapshotManifest | null>
    snapshotDownloads: SnapshotDownloader
  }
  snapshot: SnapshotName
  /** The target: an absolute path, no link; made when it is missing. */
  root: string
  transport: Transport
  /** Of the target. */
  cache: StatCache
  /** Of the target. */
  protectedPaths: ProtectedPaths
  /** Allow symlinks that lead out of the target. */
  externalLinks: boolean
  signal: AbortSignal
  progress: { start(bytes: number): void; advance(bytes: number): void }
}

export interface RestoredSnapshot extends Restored {
  /** What the folder holds now, and what else was in it before. */
  manifest: SnapshotManifest
}

/**
 * Fills a folder with the workspace of a snapshot, by bundles where there are some. As careful as a pull: all content is
 * there and checked before the target is touched, and what is killed half-way is finished by running it again.
 * @throws MissingError when there is no such snapshot; RefusedError when it or the target rules the restore out
 */
export async function restoreSnapshot(input: RestoreSnapshotInput): Promise<RestoredSnapshot> {
  const { sandboxes, snapshot, root, transport, cache, protectedPaths, externalLinks, signal, progress } = input
  const plan = sandboxes.snapshotDownloads(snapshot)
  const bundles = plan.then((downloads) => downloads.bundles)
  // They are awaited later; until then what else fails comes first.
  bundles.catch(() => undefined)
  const asked = sandboxes.getSnapshot(snapshot)
  asked.catch(() => undefined)
  // Loaded while the service answers.
  const { restoreWorkspace } = await import('../workspace/restore.ts')
  const manifest = await asked
  if (manifest === null) throw new MissingError(`There is no snapshot ${snapshot.snapshotSeq} of this sandbox.`)
  const restored = await restoreWorkspace({
    root,
    entries: manifest.files,
    blobs: snapshotBlobs((name, keys) => sandboxes.snapshotDownloads(name, keys), snapshot, plan),
    bundles,
    transport,
    cache,
    protectedPaths,
    deletes: false,
    externalLinks,
    signal,
    progress,
  })
  return { ...restored, manifest }
}
