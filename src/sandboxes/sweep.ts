import { randomUUID } from 'node:crypto'
import type { Bodies } from '../checkpoints/bodies.ts'
import { ownCheckpointRemoval } from '../checkpoints/own-thread.ts'
import { sandboxKey, sandboxPartition, snapshotKey, snapshotPartition, workspaceSandboxKey } from '../table/keys.ts'
import type { TransactAction } from '../table/table.ts'
import { retryTransient, TransientError } from '../table/transient.ts'
import type { SandboxTable } from './context.ts'
import { endOf, isPastRetention, readSandbox, readSnapshot, type SandboxState, type SnapshotItem } from './items.ts'
import { getWorkspace, isNamedBy } from './read.ts'
import { LAST_SAVE_MS } from './save.ts'
import { finalizeExpiry } from './states.ts'

export interface SandboxSweepInput extends SandboxTable {
  bodies: Bodies
  /** Whether to stop, so that a later run goes on. */
  timeIsUp: () => boolean
  /** Where an earlier run stopped. */
  after?: string | undefined
}

export interface SandboxSweepResult {
  /** Sandboxes and snapshots that were removed. */
  cleared: number
  /** Set when the time was up before all was done: give it to the run that goes on. */
  resumeAfter?: string
}

/**
 * Makes expiries final, and removes sandboxes that ended longer ago than they are kept, with their snapshots. A snapshot
 * stays that the latest pointer of its workspace key names, or that another sandbox was created from, and with it a
 * trace of its sandbox, by which a later sweep finds it again. Killed anywhere, the next sweep goes on; two at a time do
 * no harm. However little time there is, each run gets on.
 */
export async function sweepSandboxes(input: SandboxSweepInput): Promise<SandboxSweepResult> {
  const { table, scope, after = '', timeIsUp } = input
  let cleared = 0
  let resumeAfter = after
  for await (const items of table.query(sandboxPartition(scope), after === '' ? {} : { after })) {
    for (const sandbox of items.map(readSandbox)) {
      const { removed, isDone } = await sweepSandbox(input, sandbox)
      cleared += removed
      if (isDone) resumeAfter = sandbox.sandboxId
      if (!isDone || timeIsUp()) return { cleared, resumeAfter }
    }
  }
  return { cleared }
}

/** How much was removed; not done: the time was up. */
interface Swept {
  removed: number
  isDone: boolean
}

const NOTHING: Swept = { removed: 0, isDone: true }

async function sweepSandbox(input: SandboxSweepInput, sandbox: SandboxState): Promise<Swept> {
  const { now, retentionMs } = input
  const end = endOf(sandbox, now())
  if (end === undefined) return NOTHING
  // One that changes just now is left to the next sweep.
  if (sandbox.endedAt === undefined && !(await retryTransient(() => finalizeExpiry(input, sandbox, end))))
    return NOTHING
  const isOver = isPastRetention(sandbox, now(), retentionMs) && now() >= end + LAST_SAVE_MS
  return isOver ? purge(input, sandbox) : NOTHING
}

/** Nothing of the sandbox can be saved from the first write on, so that what is removed was not added to since. */
async function purge(input: SandboxSweepInput, sandbox: SandboxState): Promise<Swept> {
  if (!sandbox.purging && !(await retryTransient(() => beginPurge(input, sandbox)))) return NOTHING
  if (sandbox.pin) await retryTransient(() => releasePin(input, sandbox))
  const { table, scope, timeIsUp } = input
  const { workspaceKey } = sandbox
  // The pointer moves to what is being saved, never back to what is here.
  const workspace =
    workspaceKey === undefined ? undefined : await retryTransient(() => getWorkspace(input, workspaceKey))
  let removed = 0
  let kept = 0
  for await (const items of table.query(snapshotPartition(scope, sandbox.sandboxId))) {
    for (const snapshot of items.map(readSnapshot)) {
      const isNeeded = snapshot.pins > 0 || isNamedBy(workspace, snapshot)
      if (isNeeded || !(await removeSnapshot(input, snapshot))) kept += 1
      else {
        removed += 1
        // Asked after a removal only: a run that begins here again finds one less.
        if (timeIsUp()) return { removed, isDone: false }
      }
    }
  }
  if (kept > 0) return { removed, isDone: true }
  await retryTransient(() => removeSandbox(input, sandbox))
  return { removed: removed + 1, isDone: true }
}

async function beginPurge({ table, scope }: SandboxSweepInput, sandbox: SandboxState): Promise<boolean> {
  const { sandboxId, status, endedAt = sandbox.expiresAt } = sandbox
  const { done, item } = await table.update(sandboxKey(scope, sandboxId), {
    expression: 'SET #purging = :true',
    // Destroyed since, an expired one is kept for another while.
    condition: '#endedAt = :endedAt AND (#status = :status OR #status = :expired)',
    names: { '#purging': 'purging', '#status': 'status', '#endedAt': 'endedAt' },
    values: { ':true': true, ':status': status, ':expired': 'expired', ':endedAt': endedAt },
  })
  return done || item?.purging === true
}

/** The snapshot that the sandbox was created from has one sandbox less that needs it: told once. */
async function releasePin({ table, scope }: SandboxSweepInput, { sandboxId, pin }: SandboxState): Promise<void> {
  if (!pin) return
  const result = await table.transact(
    [
      table.transactUpdate(sandboxKey(scope, sandboxId), {
        expression: 'REMOVE #pinned, #pinnedSeq, #pinnedId',
        condition: '#pinned = :pinned',
        names: { '#pinned': 'pinned', '#pinnedSeq': 'pinnedSeq', '#pinnedId': 'pinnedId' },
        values: { ':pinned': pin.sandboxId },
      }),
      table.transactUpdate(snapshotKey(scope, pin.sandboxId, pin.snapshotSeq), {
        expression: 'ADD #pins :less',
        condition: '#pins > :zero',
        names: { '#pins': 'pins' },
        values: { ':less': -1, ':zero': 0 },
      }),
    ],
    randomUUID(),
  )
  // Another sweep, or an attempt before this one, has done it.
  const [released] = result.done ? [] : result.refused
  if (!result.done && !released) throw new Error('A pinned snapshot is not there, though nothing removes one.')
}

/** @returns false when a sandbox needs it */
async function removeSnapshot(input: SandboxSweepInput, snapshot: SnapshotItem): Promise<boolean> {
  const { table, scope, bodies } = input
  const { sandboxId, snapshotSeq, checkpointId } = snapshot
  const { actions, bodyName, threadHash } = await retryTransient(() => ownCheckpointRemoval(input, checkpointId))
  const done = await retryTransient(async () => {
    const removal = table.transactDelete(snapshotKey(scope, sandboxId, snapshotSeq), {
      condition: 'attribute_not_exists(pk) OR #pins = :zero',
      names: { '#pins': 'pins' },
      values: { ':zero': 0 },
    })
    return (await table.transact([removal, ...actions], randomUUID())).done
  })
  // One that fails to go is found by the sweep of bodies: nothing names it.
  if (done && bodyName !== undefined) await bodies.delete(threadHash, bodyName).catch(() => undefined)
  return done
}

async function removeSandbox({ table, scope }: SandboxSweepInput, sandbox: SandboxState): Promise<void> {
  const { sandboxId, workspaceKey, order } = sandbox
  const actions: TransactAction[] = [table.transactDelete(sandboxKey(scope, sandboxId))]
  if (workspaceKey !== undefined && order !== undefined) {
    actions.push(table.transactDelete(workspaceSandboxKey(scope, workspaceKey, order)))
  }
  const { done } = await table.transact(actions, randomUUID())
  if (!done) throw new TransientError('A sandbox changed while it was removed.')
}
