import { type CheckpointStore, createCheckpointStore } from '../../../src/checkpoints/store.ts'
import type { SandboxCheckpoint, SandboxCheckpointStoreOptions } from '../../../src/checkpoints/types.ts'
import type { Scope } from '../../../src/tenancy/scope.ts'
import type { Engines } from '../../support/engines.ts'

/** A store that nothing has used, and its scope. */
export function freshStore(
  engines: Engines,
  options: SandboxCheckpointStoreOptions = {},
): { store: CheckpointStore; scope: Scope } {
  const scope = engines.freshScope()
  return { store: createCheckpointStore({ ...engines, scope, ...options }), scope }
}

/** What a promise came to: `ok`, or the code (else the name) of its error. */
export async function outcome(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'ok',
    (error: unknown) => {
      if (!(error instanceof Error)) throw new Error('Something that is no error was thrown')
      const { code, name } = error as Error & { code?: unknown }
      return typeof code === 'string' ? code.replace('SANDBOX_SNAPSHOT_', '') : name
    },
  )
}

/** How often each outcome came. */
export function tally(outcomes: string[]): { [outcome: string]: number } {
  const counts: { [outcome: string]: number } = {}
  for (const name of outcomes) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** The ids of checkpoints, in their order. */
export function ids(checkpoints: ReadonlyArray<SandboxCheckpoint>): string[] {
  return checkpoints.map(({ id }) => id)
}

/** A generator of pseudo-random numbers from 0 to below 1 (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
