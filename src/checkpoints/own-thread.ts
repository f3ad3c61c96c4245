import { randomUUID } from 'node:crypto'
import { checkpointKey, idKey, threadHashOf, threadKey } from '../table/keys.ts'
import { TABLE } from '../table/schema.ts'
import type { Item, TransactAction } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import { hashText } from '../text.ts'
import type { StoreContext } from './context.ts'
import { type CheckpointRecord, readCheckpoint, readThread } from './items.ts'
import type { SandboxCheckpointWriter } from './types.ts'

/**
 * Threads of one checkpoint each, which no thread id leads to: what keeps such a checkpoint decides when it goes. Its
 * items lie among those of all others, so that its blobs count like theirs.
 */

/** Long after any lease: DynamoDB removes a thread that came to have no checkpoint. */
const UNUSED_MS = 86_400_000

/** A lone surrogate begins it: no thread id, being well-formed, has the same hash. */
export function ownThreadHash(checkpointId: string): string {
  return hashText(`\ud800 ${checkpointId}`)
}

/** Makes the thread of a checkpoint to come, with a lease of it: one write. */
export async function openOwnThread(
  { table, scope, now, leaseDurationMs, seen }: StoreContext,
  checkpointId: string,
  threadId: string,
): Promise<SandboxCheckpointWriter> {
  const writer = { threadId, ownerToken: randomUUID(), fence: 1 }
  const threadHash = ownThreadHash(checkpointId)
  await retryTransient(async () => {
    const expiresAt = now() + leaseDurationMs
    const values = { owner: writer.ownerToken, fence: writer.fence, expiresAt, seq: 0, mark: 0, live: 0, version: 0 }
    const attributes = { ...values, own: true, [TABLE.ttl]: Math.ceil((expiresAt + UNUSED_MS) / 1000) }
    const { done, item } = await table.update(threadKey(scope, threadHash), {
      expression: `SET ${Object.keys(attributes).map((name) => `#${name} = :${name}`)}`,
      condition: 'attribute_not_exists(pk)',
      names: Object.fromEntries(Object.keys(attributes).map((name) => [`#${name}`, name])),
      values: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`:${name}`, value])),
    })
    // A repeat after a lost answer meets its own lease.
    if (!item || (!done && item.owner !== writer.ownerToken)) {
      throw new Error('The id of a new checkpoint is used, which none is.')
    }
    seen.set(writer, { threadHash, state: readThread(item) })
  })
  return writer
}

/** Removes a thread that came to have no checkpoint, so that no sweep waits for its lease. */
export async function dropOwnThread({ table, scope }: StoreContext, checkpointId: string): Promise<void> {
  await retryTransient(() =>
    table.delete(threadKey(scope, ownThreadHash(checkpointId)), {
      condition: 'attribute_not_exists(#head)',
      names: { '#head': 'headSeq' },
      values: {},
    }),
  )
}

/**
 * Removes a thread that came to have no checkpoint, by the first of its items, when DynamoDB should have.
 * @returns how many were removed
 */
export async function removeUnusedThread(
  { table, scope, now }: Pick<StoreContext, 'table' | 'scope' | 'now'>,
  [thread]: Item[],
): Promise<number> {
  const unusedSince = thread?.[TABLE.ttl]
  if (typeof unusedSince !== 'number' || unusedSince * 1000 > now()) return 0
  await retryTransient(() =>
    table.delete(threadKey(scope, threadHashOf(String(thread?.sk))), {
      condition: '#ttl = :ttl',
      names: { '#ttl': TABLE.ttl },
      values: { ':ttl': unusedSince },
    }),
  )
  return 1
}

/** The record of a checkpoint that has a thread of its own. */
export async function findOwnCheckpoint(
  { table, scope }: Pick<StoreContext, 'table' | 'scope'>,
  checkpointId: string,
): Promise<CheckpointRecord | undefined> {
  const threadHash = ownThreadHash(checkpointId)
  const item = await table.get(checkpointKey(scope, threadHash, 1))
  return item && readCheckpoint(threadHash, item)
}

/**
 * What removes a checkpoint that has a thread of its own, with its thread, as actions of a transaction that decides
 * whether it goes. Its body, if it has one in S3, is to be deleted after it.
 */
export async function ownCheckpointRemoval(
  context: Pick<StoreContext, 'table' | 'scope'>,
  checkpointId: string,
): Promise<{ actions: TransactAction[]; threadHash: string; bodyName: string | undefined }> {
  const { table, scope } = context
  const threadHash = ownThreadHash(checkpointId)
  const record = await findOwnCheckpoint(context, checkpointId)
  const keys = [threadKey(scope, threadHash), checkpointKey(scope, threadHash, 1), idKey(scope, hashText(checkpointId))]
  return { actions: keys.map((key) => table.transactDelete(key)), threadHash, bodyName: record?.bodyName }
}
