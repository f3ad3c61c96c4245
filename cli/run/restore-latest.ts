import { setTimeout as sleep } from 'node:timers/promises'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import type { SnapshotManifest, SnapshotName } from '../../src/sandboxes/types.ts'
import { restoreSnapshot } from '../actions/restore-snapshot.ts'
import type { Client } from '../context.ts'
import type { Progress } from '../progress.ts'
import { createTransport } from '../transfer/transport.ts'
import { sha256OfKey } from '../workspace/manifest.ts'
import { openProtectedPaths } from '../workspace/protected-paths.ts'
import { scanWorkspace } from '../workspace/scan.ts'
import type { StatCache } from '../workspace/stat-cache.ts'
import { isRunsOwn } from './summary.ts'

export interface RestoreLatestInput {
  client: Pick<Client, 'sandboxes'>
  snapshot: SnapshotName
  /** An absolute path, no link. */
  root: string
  cache: StatCache
  /** Gets to know the files, too. */
  begun: StatCache
  stateFolder: string
  signal: AbortSignal
  progress: Progress
}

/**
 * Fills an empty folder with a snapshot, but for what is no part of a workspace; its stat cache knows the files from then
 * on. Returns what the snapshot holds of them.
 */
export async function restoreLatest(input: RestoreLatestInput): Promise<SnapshotManifest> {
  const { client, snapshot, root, cache, begun, stateFolder, signal, progress } = input
  const transport = createTransport()
  try {
    const { manifest } = await restoreSnapshot({
      sandboxes: {
        snapshotDownloads: (name, keys) => client.sandboxes.snapshotDownloads(name, keys),
        async getSnapshot(name) {
          const found = await client.sandboxes.getSnapshot(name)
          return found && { ...found, files: found.files.filter(({ path }) => !isRunsOwn(path)) }
        },
      },
      snapshot,
      root,
      transport,
      cache,
      protectedPaths: await openProtectedPaths(stateFolder, root),
      externalLinks: true,
      signal,
      progress: {
        start: (bytes) => progress.start('Restoring', bytes, 'bytes'),
        advance: (bytes) => progress.advance(bytes),
      },
    })
    await learn(root, manifest.files, [cache, begun], signal)
    return manifest
  } finally {
    progress.stop()
    transport.close()
  }
}

/** For so long what was written just now counts as not settled in a stat cache. */
const SETTLING_MS = 30

/** Nobody has had the folder yet: its files are those that were restored, and checked, a moment ago. */
async function learn(
  root: string,
  entries: ReadonlyArray<SandboxSnapshotEntry>,
  caches: readonly StatCache[],
  signal: AbortSignal,
): Promise<void> {
  await sleep(SETTLING_MS)
  const startedAt = Date.now()
  const keys = new Map(entries.flatMap((entry) => (entry.kind === 'file' ? [[entry.path, entry.blobKey]] : [])))
  const { entries: found } = await scanWorkspace(root, signal)
  const known = found.flatMap((entry) => {
    const key = keys.get(entry.path)
    return entry.kind === 'file' && key !== undefined ? [{ ...entry, sha256: sha256OfKey(key) }] : []
  })
  // Without it the first save reads all files.
  for (const cache of caches) await cache.save(known, startedAt).catch(() => undefined)
}
