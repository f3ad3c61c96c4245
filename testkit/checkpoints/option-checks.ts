import { expect } from 'vitest'
import type { SandboxCheckpointStoreOptions } from '../../src/checkpoints/types.ts'
import type { CheckpointStoreCheck, MakeCheckpointStore } from './check.ts'

const invalid: SandboxCheckpointStoreOptions[] = [
  { leaseDurationMs: 0 },
  { leaseDurationMs: -1 },
  { leaseDurationMs: Number.NaN },
  { leaseDurationMs: Number.POSITIVE_INFINITY },
  { renewAfterMs: 0 },
  { renewAfterMs: -1 },
  { renewAfterMs: Number.NaN },
  { leaseDurationMs: 100, renewAfterMs: 100 },
  { leaseDurationMs: 100, renewAfterMs: 101 },
  // The default of renewAfterMs is above it.
  { leaseDurationMs: 30_000 },
]

/** For stores whose constructor takes the options; a remote store may take them elsewhere. */
export const checkpointStoreOptionChecks: CheckpointStoreCheck[] = [
  {
    name: 'options: lease times default to 120 s, renewed after 45 s',
    async run(makeStore) {
      const lease = await (await makeStore({ now: () => 1_000 })).acquireWriter('t')
      expect({ expiresAt: lease.expiresAt, renewAfterMs: lease.renewAfterMs }).toEqual({
        expiresAt: 121_000,
        renewAfterMs: 45_000,
      })
    },
  },
  {
    name: 'options: lease times must be positive, and a lease longer than the time until it is renewed',
    async run(makeStore) {
      for (const options of invalid) {
        expect(await isRefused(makeStore, options), JSON.stringify(options)).toBe(true)
      }
      await makeStore({ leaseDurationMs: 0.5, renewAfterMs: 0.25 })
    },
  },
]

async function isRefused(makeStore: MakeCheckpointStore, options: SandboxCheckpointStoreOptions): Promise<boolean> {
  try {
    await makeStore(options)
    return false
  } catch (error) {
    return error instanceof Error
  }
}
