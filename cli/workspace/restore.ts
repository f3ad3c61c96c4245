import type { BlobExchange } from '../../src/blobs/types.ts'
import type { BundleDownload } from '../../src/bundles/types.ts'
import type { SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'
import type { Transport } from '../transfer/transport.ts'
import { applyPlan } from './apply.ts'
import { checkManifest } from './check-manifest.ts'
import { changesRules, checkClearing, removeExtra } from './clearing.ts'
import { refuseExternalLinks } from './external-links.ts'
import { byPath } from './paths.ts'
import { planRestore } from './plan.ts'
import type { ProtectedPaths } from './protected-paths.ts'
import { scanWorkspace } from './scan.ts'
import { stageFiles } from './stage-files.ts'
import { checkNamesDiffer, checkSpace, createStaging } from './staging.ts'
import type { KeptFile, StatCache } from './stat-cache.ts'

export interface RestoreInput {
  /** The target: an absolute path; made when it is missing. */
  root: string
  entries: ReadonlyArray<SandboxSnapshotEntry>
  blobs: Pick<BlobExchange, 'prepareDownloads'>
  /** See `StageInput`. While they are on their way, the target is looked at. */
  bundles?: Promise<ReadonlyArray<BundleDownload>>
  transport: Transport
  cache: StatCache
  protectedPaths: ProtectedPaths
  /** Remove what the checkpoint does not have. */
  deletes: boolean
  /** Allow symlinks that lead out of the target. */
  externalLinks: boolean
  signal: AbortSignal
  progress: { start(bytes: number): void; advance(bytes: number): void }
}

export interface Restored {
  filesWritten: number
  linksWritten: number
  modesChanged: number
  filesUnchanged: number
  /** Paths. */
  removed: string[]
  downloads: number
  downloadedBytes: number
  /** What was read of the target, for its stat cache. */
  known: KeptFile[]
}

/**
 * Makes a folder what a checkpoint says. Every byte is downloaded and checked before the target is touched; whatever is
 * in the target already is not downloaded again, so an interrupted restore is finished by running it again.
 * @throws RefusedError when the checkpoint or the target rules it out, before anything is written.
 */
export async function restoreWorkspace(input: RestoreInput): Promise<Restored> {
  const { root, entries, protectedPaths, signal } = input
  checkManifest(root, entries)
  if (!input.externalLinks) await refuseExternalLinks(root, entries)
  const plan = await planRestore(root, entries, input.cache, signal)
  const staging = await createStaging(root)
  let isDone = false
  try {
    const needsScan = input.deletes || plan.inTheWay.length > 0 || changesRules(plan, entries, null)
    const before = needsScan ? await scanWorkspace(root, signal) : null
    if (before !== null) checkClearing(plan.inTheWay, before, protectedPaths, input.deletes)
    await checkNamesDiffer(staging.folder, [
      ...plan.folders,
      ...entries.filter(({ kind }) => kind !== 'dir').map(({ path }) => path),
    ])
    await checkSpace(
      staging.folder,
      plan.files.reduce((sum, { size }) => sum + size, 0),
    )
    const blobs = new Map(plan.files.map(({ blobKey, size }) => [blobKey, size]))
    input.progress.start([...blobs.values()].reduce((sum, size) => sum + size, 0))
    const staged = await stageFiles({
      root,
      folder: staging.folder,
      files: plan.files,
      sources: plan.sources,
      blobs: input.blobs,
      bundles: (await input.bundles) ?? [],
      transport: input.transport,
      signal,
      onBlob: (size) => input.progress.advance(size),
    })
    if (before !== null && changesRules(plan, entries, input.deletes ? before : null)) {
      await protectedPaths.add(before.skipped.filter(({ reason }) => reason === 'ignored').map(({ path }) => path))
    }
    await applyPlan(root, plan, staged.files, staging.folder, signal)
    const removed =
      input.deletes && before !== null ? await removeExtra(root, entries, before, protectedPaths, signal) : []
    const restoredPaths = new Set(entries.map(({ path }) => path))
    await protectedPaths.retain((path) => !restoredPaths.has(path))
    isDone = true
    const files = entries.filter(({ kind }) => kind === 'file').length
    return {
      filesWritten: plan.files.length,
      linksWritten: plan.links.length,
      modesChanged: plan.modes.length,
      filesUnchanged: files - plan.files.length - plan.modes.length,
      removed,
      downloads: staged.downloads,
      downloadedBytes: staged.bytes,
      known: plan.known.sort(byPath),
    }
  } finally {
    await staging.remove(isDone)
  }
}
