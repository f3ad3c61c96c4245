import type { BenchResult } from './harness.ts'
import { compareStates } from './peers/states.ts'

/**
 * What keeps an agent's states, side by side on the same engines. The other library keeps states alone: it has no
 * compare-and-swap, no leases and no files.
 */
export async function peers(): Promise<BenchResult> {
  return { rows: await compareStates(), bars: [] }
}
