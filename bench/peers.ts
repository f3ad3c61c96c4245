import type { BenchResult } from './harness.ts'
import { compareStates } from './peers/states.ts'
import { compareWorkspaces } from './peers/workspaces.ts'

/**
 * What else keeps an agent's states and workspaces, side by side on the same engines. What is not comparable is said in
 * docs/comparison.md: LangGraph's saver has no compare-and-swap, no leases and no files; restic encrypts, and has no
 * server that checks who may do what; a tar archive has no deduplication and no order of writers.
 */
export async function peers(): Promise<BenchResult> {
  return { rows: [...(await compareStates()), ...(await compareWorkspaces())], bars: [] }
}
