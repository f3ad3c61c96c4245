import { describe, it } from 'vitest'
import type { SandboxCheckpointStoreOptions } from '../src/checkpoints/types.ts'
import { appendChecks } from './checkpoints/append-checks.ts'
import type { CheckpointStoreCheck, MakeCheckpointStore } from './checkpoints/check.ts'
import { deleteHeadChecks } from './checkpoints/delete-head-checks.ts'
import { entryChecks } from './checkpoints/entry-checks.ts'
import { forkChecks } from './checkpoints/fork-checks.ts'
import { idChecks } from './checkpoints/id-checks.ts'
import { leaseChecks } from './checkpoints/lease-checks.ts'
import { checkpointStoreOptionChecks } from './checkpoints/option-checks.ts'
import { pruneChecks } from './checkpoints/prune-checks.ts'
import { readChecks, sizeChecks } from './checkpoints/read-checks.ts'
import { retryChecks } from './checkpoints/retry-checks.ts'

/** The contract, a rule at a time. Each check makes a store of its own. */
export const checkpointStoreChecks: ReadonlyArray<CheckpointStoreCheck> = [
  ...idChecks,
  ...entryChecks,
  ...readChecks,
  ...appendChecks,
  ...leaseChecks,
  ...deleteHeadChecks,
  ...forkChecks,
  ...pruneChecks,
  ...retryChecks,
  ...sizeChecks,
]

/**
 * Defines a vitest suite that a checkpoint store passes when it keeps the contract.
 *
 * @param makeStore gives a fresh, empty store for each call; it must use the `now` and the lease times that it is given
 * @param options the start of the suite's clock (read once from `now`) and the lease times in milliseconds, for a store
 *   that does not work with those that the suite picks
 */
export function runCheckpointStoreConformance(
  name: string,
  makeStore: MakeCheckpointStore,
  options?: SandboxCheckpointStoreOptions,
): void {
  describe(`${name}: checkpoint store contract`, () => {
    for (const check of checkpointStoreChecks) it(check.name, () => check.run(makeStore, options))
  })
}

/** As `runCheckpointStoreConformance`, for the rules of the options themselves: for a store that is constructed in process. */
export function runCheckpointStoreOptionsConformance(name: string, makeStore: MakeCheckpointStore): void {
  describe(`${name}: checkpoint store options`, () => {
    for (const check of checkpointStoreOptionChecks) it(check.name, () => check.run(makeStore))
  })
}
