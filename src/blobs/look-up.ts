import pMap from 'p-map'
import type { BlobInfo } from './types.ts'

/** How many keys are looked up one by one at a time. */
const CONCURRENCY = 64
/**
 * A page of a list costs about as much as a dozen single look-ups, and takes the time of one or two. It is asked for
 * while pages hold at least so many of the keys.
 */
const WORTH_A_PAGE = 16

export interface BlobReader {
  /** The blobs behind a key, in order; `ended` when no more follow them. */
  page(after: string): Promise<{ blobs: BlobInfo[]; ended: boolean }>
  stat(key: string): Promise<BlobInfo | null>
}

/**
 * Which of many keys are there. Keys that lie close together, as in a scope that holds little else, are found by pages
 * of a list; the others each by itself.
 */
export async function lookUp(reader: BlobReader, keys: readonly string[]): Promise<Map<string, BlobInfo>> {
  const found = new Map<string, BlobInfo>()
  let rest = [...new Set(keys)].sort()
  while (rest.length >= WORTH_A_PAGE) {
    // A key without its end sorts before it, and before little else.
    const { blobs, ended } = await reader.page((rest[0] ?? '').slice(0, -1))
    const last = blobs.at(-1)?.key ?? ''
    const listed = new Map(blobs.map((blob) => [blob.key, blob]))
    const covered = ended ? rest.length : rest.findLastIndex((key) => key <= last) + 1
    for (const key of rest.slice(0, covered)) {
      const blob = listed.get(key)
      if (blob) found.set(key, blob)
    }
    rest = rest.slice(covered)
    if (covered < WORTH_A_PAGE) break
  }
  const single = await pMap(rest, (key) => reader.stat(key), { concurrency: CONCURRENCY })
  for (const blob of single) if (blob) found.set(blob.key, blob)
  return found
}
