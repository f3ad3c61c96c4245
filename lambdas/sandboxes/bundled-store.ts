import { isWorthBundling } from '../../src/bundles/plan.ts'
import type { SandboxStore } from '../../src/sandboxes/types.ts'
import type { Scope } from '../../src/tenancy/scope.ts'
import type { BundlesRequester } from '../shared/bundles-config.ts'
import { log } from '../shared/log.ts'

/**
 * The same store, which has bundles built of each snapshot that a sandbox will start from. A save that they cannot be
 * asked for is a save all the same.
 */
export function bundledStore(store: SandboxStore, scope: Scope, requester: BundlesRequester): SandboxStore {
  return {
    ...store,
    async saveSnapshot(sandboxId, input) {
      const saved = await store.saveSnapshot(sandboxId, input)
      if ((saved.workspaceKey === null || saved.latest) && isWorthBundling(input.files)) {
        await tryToRequest(requester, { scope, sandboxId, snapshotSeq: saved.snapshotSeq })
      }
      return saved
    },
  }
}

/** Bundles can wait: a restore does without them, and asks for them again. */
export async function tryToRequest(
  { requestBundles }: BundlesRequester,
  event: Parameters<BundlesRequester['requestBundles']>[0],
): Promise<void> {
  try {
    await requestBundles(event)
  } catch (error) {
    log('WARN', 'Bundles could not be asked for.', { ...event, error })
  }
}
