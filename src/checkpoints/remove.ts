import { randomUUID } from 'node:crypto'
import pMap from 'p-map'
import { checkpointKey, idKey, threadKey } from '../table/keys.ts'
import { retryTransient, TransientError } from '../table/transient.ts'
import { hashText } from '../text.ts'
import { liveParent } from './chain.ts'
import type { StoreContext } from './context.ts'
import { SandboxCheckpointNotHeadError } from './errors.ts'
import { type CheckpointRecord, readCheckpoint, sameIdItem } from './items.ts'
import { getThread, idOf, readThreadMeta } from './read.ts'
import { refusedByOwnWrite, threadUpdate, writeToken } from './thread-write.ts'
import type { SandboxCheckpointDeleteHeadInput, SandboxCheckpointDeleteInput } from './types.ts'
import { checkId, checkKeep, checkWriterThread } from './validate.ts'
import { checkWriter, checkWriterOf } from './writer.ts'

/** How many pruned checkpoints are cleared away at a time. */
const CLEAR_CONCURRENCY = 8

/**
 * Removes the head; its parent becomes the head, or none where the parent was pruned or never was.
 * @throws the contract's errors, in its order
 */
export async function deleteHead(context: StoreContext, input: SandboxCheckpointDeleteHeadInput): Promise<void> {
  const { threadId, checkpointId } = input
  checkId(threadId, 'threadId')
  checkId(checkpointId, 'checkpointId')
  checkWriterThread(input.writer)
  const writer = { ...input.writer }
  checkWriterOf(threadId, writer)
  const threadHash = hashText(threadId)
  const idHash = hashText(checkpointId)
  const token = writeToken(input.requestToken, { operation: 'delete', threadHash, content: idHash })
  context.seen.delete(input.writer)
  const { table, scope } = context
  let removed: CheckpointRecord | undefined
  await retryTransient(async () => {
    const state = await getThread(context, threadHash)
    if (state?.lastWrite === token) return
    const now = context.now()
    checkWriter(state, writer, now)
    if (state?.head?.idHash !== idHash) throw new SandboxCheckpointNotHeadError('The checkpoint is not the head.')
    const { sequence } = state.head
    const key = checkpointKey(scope, threadHash, sequence)
    const item = await table.get(key)
    if (!item) throw new TransientError('The head was deleted while it was read.')
    removed = readCheckpoint(threadHash, item)
    const change = {
      head: liveParent(removed, state),
      sequence: state.sequence,
      mark: state.mark,
      live: state.live - 1,
      token,
    }
    const result = await table.transact(
      [
        table.transactUpdate(threadKey(scope, threadHash), threadUpdate(state, change, writer, now)),
        table.transactDelete(key, { condition: 'attribute_exists(pk)', names: {}, values: {} }),
        table.transactDelete(idKey(scope, idHash), sameIdItem({ threadHash, sequence })),
      ],
      randomUUID(),
    )
    if (result.done) return
    const [thread] = result.refused
    if (thread && refusedByOwnWrite(thread.item, { token, writer, now })) return
    throw new TransientError('The thread was written to at the same time.')
  })
  // Nobody can reach the body any more; one that fails to go is found by the sweep.
  if (removed?.bodyName !== undefined) await context.bodies.delete(threadHash, removed.bodyName).catch(() => undefined)
}

/**
 * Keeps the head and the newest checkpoints before it along the parent chain, `keep` in all, and deletes the older
 * ones: for readers at once, by one write that moves the thread's mark. Their items and bodies go after it; what a
 * crash leaves of them is cleared by the next prune or the sweep.
 * @returns the deleted ids, oldest first
 * @throws SandboxCheckpointInvalidIdError, SandboxCheckpointInvalidEntryError (`keep`), SandboxCheckpointWriterLostError
 */
export async function deleteCheckpoints(
  context: StoreContext,
  input: SandboxCheckpointDeleteInput,
): Promise<{ deleted: string[] }> {
  const { threadId, keep } = input
  checkId(threadId, 'threadId')
  checkWriterThread(input.writer)
  checkKeep(keep)
  const writer = { ...input.writer }
  checkWriterOf(threadId, writer)
  const token = randomUUID()
  const threadHash = hashText(threadId)
  context.seen.delete(input.writer)
  const { table, scope } = context
  let dead: CheckpointRecord[] = []
  let deleted: string[] = []
  await retryTransient(async () => {
    const state = await getThread(context, threadHash)
    if (state?.lastWrite === token) return
    checkWriter(state, writer, context.now())
    const chain = await readThreadMeta(context, threadHash)
    const checkpoints = chain?.checkpoints ?? []
    const doomed = checkpoints.slice(0, Math.max(0, checkpoints.length - keep))
    dead = [...(chain?.dead ?? []), ...doomed]
    deleted = await pMap(doomed, (record) => idOf(context, record), { concurrency: CLEAR_CONCURRENCY })
    const oldestKept = checkpoints[doomed.length]
    if (!chain || !oldestKept || doomed.length === 0) return
    const now = context.now()
    const { head, sequence, live } = chain.state
    const change = { head, sequence, mark: oldestKept.sequence, live: live - doomed.length, token }
    const result = await table.update(threadKey(scope, threadHash), threadUpdate(chain.state, change, writer, now))
    if (result.done) return
    if (refusedByOwnWrite(result.item, { token, writer, now })) return
    throw new TransientError('The thread was written to at the same time.')
  })
  // The deletion has happened: what fails to go now is cleared later.
  await clearAway(context, dead).catch(() => undefined)
  return { deleted }
}

/**
 * Removes what is left of deleted checkpoints. The item of a checkpoint goes last, so that a crash before leaves it to
 * be found. An id that was used again since is another checkpoint's and stays.
 */
export async function clearAway(
  { table, bodies, scope }: Pick<StoreContext, 'table' | 'bodies' | 'scope'>,
  dead: CheckpointRecord[],
): Promise<void> {
  await pMap(
    dead,
    async (record) => {
      await table.delete(idKey(scope, record.idHash), sameIdItem(record))
      if (record.bodyName !== undefined) await bodies.delete(record.threadHash, record.bodyName)
      await table.delete(checkpointKey(scope, record.threadHash, record.sequence))
    },
    { concurrency: CLEAR_CONCURRENCY },
  )
}
