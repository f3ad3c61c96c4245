import { filesList } from './files-list.ts'
import { filesProxy } from './files-proxy.ts'
import type { BenchResult } from './harness.ts'

/** The files of sandboxes, and the proxy before the provider of hosted ones. */
export async function files(): Promise<BenchResult> {
  const parts = [await filesProxy(), await filesList()]
  return { rows: parts.flatMap(({ rows }) => rows), bars: parts.flatMap(({ bars }) => bars) }
}
