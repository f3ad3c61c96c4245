import type { SandboxSnapshotEntry } from '../checkpoints/types.ts'
import type { Bundle, BundleEntry, SizedBlob } from './types.ts'

/** Larger blobs travel by themselves: a request more costs them little. */
export const MAX_BUNDLED_BYTES = 262_144
/** About the bytes of a bundle: many requests' worth, and several of them still share the way of a workspace. */
export const BUNDLE_BYTES = 8_388_608
/** Fewer blobs than these are not worth a bundle: they are downloaded one by one. */
export const MIN_BLOBS = 32
/** So that the list of a bundle of tiny blobs stays small. */
const MAX_BLOBS = 8_192

export interface BundlePlan {
  /** Bundles that stay as they are. */
  keep: Bundle[]
  /** What to put into new ones. */
  make: SizedBlob[][]
  /** Blobs that stay outside. */
  left: SizedBlob[]
}

/**
 * Which of a workspace's blobs go into which bundle. An earlier bundle stays while at least half of its bytes are used.
 * Blobs in none of those wait outside until there are enough of them; then they get bundles, and take smaller ones in, so
 * that many small saves leave few bundles, and no blob is written anew more than some times.
 * `blobs`: in the order in which they are to lie; each key counts once, large ones not at all.
 */
export function planBundles(blobs: readonly SizedBlob[], earlier: readonly Bundle[]): BundlePlan {
  const wanted = new Map<string, SizedBlob>()
  for (const blob of blobs) if (isSmall(blob)) wanted.set(blob.key, wanted.get(blob.key) ?? blob)
  const outside = new Set(wanted.values())
  const kept: Array<{ bundle: Bundle; used: SizedBlob[]; usedBytes: number }> = []
  for (const bundle of earlier) {
    const used: SizedBlob[] = []
    for (const { key, size } of bundle.blobs) {
      const blob = wanted.get(key)
      if (blob !== undefined && blob.size === size && outside.has(blob)) used.push(blob)
    }
    const usedBytes = bytesOf(used)
    if (used.length === 0 || usedBytes * 2 < bytesOf(bundle.blobs)) continue
    kept.push({ bundle, used, usedBytes })
    for (const blob of used) outside.delete(blob)
  }
  if (outside.size < MIN_BLOBS) return { keep: kept.map(({ bundle }) => bundle), make: [], left: [...outside] }

  let bytes = bytesOf(outside)
  const keep: Bundle[] = []
  for (const { bundle, used, usedBytes } of kept.sort((left, right) => left.usedBytes - right.usedBytes)) {
    if (usedBytes > bytes || usedBytes * 2 > BUNDLE_BYTES) {
      keep.push(bundle)
      continue
    }
    bytes += usedBytes
    for (const blob of used) outside.add(blob)
  }
  const inOrder = [...wanted.values()].filter((blob) => outside.has(blob))
  return { keep, make: fill(inOrder, bytes), left: [] }
}

/** Bundles of about the same size: a small one at the end would be taken in by the next build. */
function fill(blobs: readonly SizedBlob[], bytes: number): SizedBlob[][] {
  const target = bytes / Math.max(1, Math.ceil(bytes / BUNDLE_BYTES))
  const bundles: SizedBlob[][] = []
  let current: SizedBlob[] = []
  let size = 0
  for (const blob of blobs) {
    if (current.length > 0 && (size + blob.size / 2 > target || current.length === MAX_BLOBS)) {
      bundles.push(current)
      current = []
      size = 0
    }
    current.push(blob)
    size += blob.size
  }
  if (current.length > 0) bundles.push(current)
  return bundles
}

export interface DownloadPlan {
  bundles: Array<{ id: string; size: number; entries: BundleEntry[] }>
  /** Blobs to be downloaded by themselves. */
  single: SizedBlob[]
}

/**
 * Which bundles a restore takes. One is worth its download when the bytes of it that are not wanted are fewer than those
 * that take as long as the requests it saves; so every bundle that is used by half is.
 */
export function planDownloads(blobs: readonly SizedBlob[], bundles: readonly Bundle[]): DownloadPlan {
  const single = new Map<string, SizedBlob>()
  for (const blob of blobs) single.set(blob.key, single.get(blob.key) ?? blob)
  const plan: DownloadPlan = { bundles: [], single: [] }
  for (const { id, blobs: inBundle } of bundles) {
    const entries: BundleEntry[] = []
    let offset = 0
    for (const { key, size } of inBundle) {
      if (single.get(key)?.size === size) entries.push({ key, size, offset })
      offset += size
    }
    if (entries.length === 0 || offset - bytesOf(entries) > entries.length * MAX_BUNDLED_BYTES) continue
    plan.bundles.push({ id, size: offset, entries })
    for (const { key } of entries) single.delete(key)
  }
  plan.single = [...single.values()]
  return plan
}

/** Whether a workspace has so many small files that it comes to have bundles. */
export function isWorthBundling(files: ReadonlyArray<SandboxSnapshotEntry>): boolean {
  const keys = new Set<string>()
  for (const entry of files) {
    if (entry.kind === 'file' && isSmall({ key: entry.blobKey, size: entry.size })) keys.add(entry.blobKey)
    if (keys.size === MIN_BLOBS) return true
  }
  return false
}

export function isSmall({ key, size }: SizedBlob): boolean {
  return size <= MAX_BUNDLED_BYTES && key.startsWith('sandbox-files/')
}

function bytesOf(blobs: Iterable<SizedBlob>): number {
  let bytes = 0
  for (const { size } of blobs) bytes += size
  return bytes
}
