import { randomUUID } from 'node:crypto'
import { scopeKey, threadKey } from '../table/keys.ts'
import { retryTransient } from '../table/transient.ts'
import { hashText } from '../text.ts'
import type { StoreContext } from './context.ts'
import { SandboxCheckpointWriterConflictError, SandboxCheckpointWriterLostError } from './errors.ts'
import { readThread, type ThreadState } from './items.ts'
import { headIdOf } from './read.ts'
import type { SandboxCheckpointWriter, SandboxCheckpointWriterLease } from './types.ts'
import { checkId } from './validate.ts'

/** Writer leases. A lease is two attributes of the thread item; its fence outlives it. */

/** The condition, on a thread item, that a writer's lease is current; with the names and values it uses. */
export const CURRENT_LEASE = '#owner = :owner AND #fence = :fence AND #expiresAt > :now'
export const LEASE_NAMES = { '#owner': 'owner', '#fence': 'fence', '#expiresAt': 'expiresAt' }

export function leaseValues(writer: SandboxCheckpointWriter, now: number) {
  return { ':owner': writer.ownerToken, ':fence': writer.fence, ':now': now }
}

/** @throws SandboxCheckpointWriterLostError unless the writer's lease is the thread's and current. */
export function checkWriter(state: ThreadState | undefined, writer: SandboxCheckpointWriter, now: number): void {
  if (!state || !isCurrent(state, writer, now)) throw lost()
}

export function isCurrent(state: ThreadState, writer: SandboxCheckpointWriter, now: number): boolean {
  return (
    state.owner !== undefined &&
    state.owner === writer.ownerToken &&
    state.fence === writer.fence &&
    (state.expiresAt ?? 0) > now
  )
}

/** @throws SandboxCheckpointWriterLostError when the writer is of another thread than the write. */
export function checkWriterOf(threadId: string, writer: SandboxCheckpointWriter): void {
  if (writer.threadId !== threadId) throw lost()
}

/**
 * Takes the lease of a thread, which need not exist. One conditional write; two and a look-up for a new thread.
 * @throws SandboxCheckpointInvalidIdError
 * @throws SandboxCheckpointWriterConflictError when another lease is live.
 */
export async function acquireWriter(
  context: StoreContext,
  threadId: string,
  ownerToken: string = randomUUID(),
): Promise<SandboxCheckpointWriterLease> {
  checkId(threadId, 'threadId')
  const threadHash = hashText(threadId)
  const { state, headId } = await retryTransient(async () => {
    const taken = await takeLease(context, threadHash, ownerToken)
    return { state: taken, headId: await headIdOf(context, threadHash, taken) }
  })
  let expiresAt = state.expiresAt ?? 0
  const writer = { threadId, ownerToken, fence: state.fence }
  const lease: SandboxCheckpointWriterLease = {
    ...writer,
    headId,
    renewAfterMs: context.renewAfterMs,
    get expiresAt() {
      return expiresAt
    },
    async renew() {
      expiresAt = await renewWriter(context, writer)
      return { expiresAt }
    },
    release: () => releaseWriter(context, writer),
  }
  context.seen.set(lease, { threadHash, state })
  return lease
}

async function takeLease(context: StoreContext, threadHash: string, ownerToken: string): Promise<ThreadState> {
  const { table, scope } = context
  const known = await tryTakeLease(context, threadHash, ownerToken, 'attribute_exists(#fence)')
  if (known) return known
  // The sweep finds scopes by these items: one must be there before the first thread is.
  await table.put({ ...scopeKey(scope), tenant: scope.tenant, project: scope.project })
  const created = await tryTakeLease(context, threadHash, ownerToken, 'attribute_not_exists(#fence)')
  if (created) return created
  const taken = await tryTakeLease(context, threadHash, ownerToken, 'attribute_exists(#fence)')
  if (taken) return taken
  throw new Error('A thread item of the table disappeared, which nothing does.')
}

/** The thread's new state; undefined when `existence`, a condition on the item's being there, does not hold. */
async function tryTakeLease(
  { table, scope, now: clock, leaseDurationMs }: StoreContext,
  threadHash: string,
  ownerToken: string,
  existence: 'attribute_exists(#fence)' | 'attribute_not_exists(#fence)',
): Promise<ThreadState | undefined> {
  const now = clock()
  const result = await table.update(threadKey(scope, threadHash), {
    expression:
      'SET #owner = :owner, #expiresAt = :expiresAt, #fence = if_not_exists(#fence, :zero) + :one, ' +
      '#seq = if_not_exists(#seq, :zero), #mark = if_not_exists(#mark, :zero), ' +
      '#live = if_not_exists(#live, :zero), #version = if_not_exists(#version, :zero)',
    condition: `${existence} AND (attribute_not_exists(#expiresAt) OR #expiresAt <= :now)`,
    names: { ...LEASE_NAMES, '#seq': 'seq', '#mark': 'mark', '#live': 'live', '#version': 'version' },
    values: { ':owner': ownerToken, ':expiresAt': now + leaseDurationMs, ':now': now, ':zero': 0, ':one': 1 },
  })
  const state = result.item && readThread(result.item)
  if (result.done) return state
  const exists = state !== undefined
  if (exists !== (existence === 'attribute_exists(#fence)')) return undefined
  // A repeat after a lost answer meets its own lease.
  if (state?.owner === ownerToken && (state.expiresAt ?? 0) > now) return state
  throw new SandboxCheckpointWriterConflictError('Another writer holds the thread.')
}

/**
 * Sets the lease's end to now + leaseDurationMs.
 * @throws SandboxCheckpointInvalidIdError, SandboxCheckpointWriterLostError
 */
export async function renewWriter(context: StoreContext, writer: SandboxCheckpointWriter): Promise<number> {
  checkId(writer.threadId, 'writer.threadId')
  checkComparable(writer)
  const { table, scope, leaseDurationMs } = context
  return retryTransient(async () => {
    const now = context.now()
    const expiresAt = now + leaseDurationMs
    const { done } = await table.update(threadKey(scope, hashText(writer.threadId)), {
      expression: 'SET #expiresAt = :expiresAt',
      condition: CURRENT_LEASE,
      names: LEASE_NAMES,
      values: { ...leaseValues(writer, now), ':expiresAt': expiresAt },
    })
    if (!done) throw lost()
    return expiresAt
  })
}

/**
 * Gives the lease back. A lease that was lost, taken over or released already is left as it is.
 * @throws SandboxCheckpointInvalidIdError
 */
export async function releaseWriter({ table, scope }: StoreContext, writer: SandboxCheckpointWriter): Promise<void> {
  checkId(writer.threadId, 'writer.threadId')
  if (!isComparable(writer)) return
  await retryTransient(() =>
    table.update(threadKey(scope, hashText(writer.threadId)), {
      expression: 'REMOVE #owner, #expiresAt',
      condition: '#owner = :owner AND #fence = :fence',
      names: LEASE_NAMES,
      values: { ':owner': writer.ownerToken, ':fence': writer.fence },
    }),
  )
}

/** @throws SandboxCheckpointWriterLostError when the writer's values equal no lease's, whatever they are. */
export function checkComparable(writer: SandboxCheckpointWriter): void {
  if (!isComparable(writer)) throw lost()
}

function isComparable({ ownerToken, fence }: SandboxCheckpointWriter): boolean {
  return typeof ownerToken === 'string' && ownerToken.isWellFormed() && Number.isSafeInteger(fence)
}

export function lost(): SandboxCheckpointWriterLostError {
  return new SandboxCheckpointWriterLostError('The writer lease is not current. Acquire it again and start over.')
}
