import { SandboxCheckpointWriterLostError } from '../src/checkpoints/errors.ts'
import type { SandboxCheckpointStore, SandboxCheckpointWriterLease } from '../src/checkpoints/types.ts'

/**
 * Holds the writer lease of a thread while `work` runs: renews it in time, and releases it whatever happens.
 * The signal given to `work` is aborted when the lease is lost.
 * @throws SandboxCheckpointWriterConflictError when another writer holds the thread.
 */
export async function withLease<T>(
  store: Pick<SandboxCheckpointStore, 'acquireWriter'>,
  threadId: string,
  signal: AbortSignal,
  work: (lease: SandboxCheckpointWriterLease, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const lease: SandboxCheckpointWriterLease = await store.acquireWriter(threadId)
  const lost = new AbortController()
  const stopRenewing = keepRenewing(lease, lost)
  try {
    signal.throwIfAborted()
    return await work(lease, AbortSignal.any([signal, lost.signal]))
  } finally {
    stopRenewing()
    await lease.release()
  }
}

/** Renews `renewAfterMs` after the renewal before was done. */
function keepRenewing(lease: SandboxCheckpointWriterLease, lost: AbortController): () => void {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const schedule = () => {
    if (!stopped) timer = setTimeout(renew, lease.renewAfterMs)
  }
  const renew = () => {
    lease.renew().then(schedule, (error: unknown) => {
      // Anything else may pass; the store checks the lease again with the write itself.
      if (error instanceof SandboxCheckpointWriterLostError) lost.abort(error)
      else schedule()
    })
  }
  schedule()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}
