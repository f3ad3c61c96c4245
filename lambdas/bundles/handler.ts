import { createBundleStore } from '../../src/bundles/store.ts'
import { workspaceOf } from '../../src/bundles/workspace.ts'
import { createSandboxStore } from '../../src/sandboxes/store.ts'
import type { SandboxHandlerConfig } from '../sandboxes/config.ts'
import type { BundlesEvent } from '../shared/bundles-config.ts'
import { log } from '../shared/log.ts'

/** What the function asks of the clock that ends it. */
export interface RemainingTime {
  getRemainingTimeInMillis(): number
}

/** Enough for the bundle under way and the write that makes all count. */
const HANDOVER_MS = 60_000

/** Builds the bundles of a snapshot, unless it is gone or another has become the latest of its workspace key. */
export function createHandler(config: SandboxHandlerConfig) {
  return async ({ scope, sandboxId, snapshotSeq }: BundlesEvent, context: RemainingTime): Promise<void> => {
    const snapshot = await createSandboxStore({ ...config, scope }).getSnapshot(sandboxId, snapshotSeq)
    if (!snapshot || (snapshot.workspaceKey !== null && !snapshot.latest)) return
    const timeIsUp = () => context.getRemainingTimeInMillis() < HANDOVER_MS
    const built = await createBundleStore({ ...config, scope }).build(workspaceOf(snapshot), snapshot, timeIsUp)
    log('INFO', 'Bundles were built.', { scope, sandboxId, snapshotSeq, built })
  }
}
