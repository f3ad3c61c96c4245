import { expect } from 'vitest'
import type { SandboxBlobReference, SandboxCheckpoint, SandboxCheckpointStore } from '../../src/checkpoints/types.ts'

const classNames = {
  STALE_HEAD: 'SandboxCheckpointConflictError',
  PARENT_MISMATCH: 'SandboxCheckpointParentMismatchError',
  DUPLICATE_ID: 'SandboxCheckpointDuplicateIdError',
  NOT_HEAD: 'SandboxCheckpointNotHeadError',
  WRITER_CONFLICT: 'SandboxCheckpointWriterConflictError',
  WRITER_LOST: 'SandboxCheckpointWriterLostError',
  INVALID_ID: 'SandboxCheckpointInvalidIdError',
  INVALID_ENTRY: 'SandboxCheckpointInvalidEntryError',
  FORK_SOURCE_NOT_FOUND: 'SandboxCheckpointError',
  FORK_SOURCE_THREAD_MISMATCH: 'SandboxCheckpointError',
  FORK_DESTINATION_NOT_EMPTY: 'SandboxCheckpointError',
} as const

export type Refusal = keyof typeof classNames

/** Fails unless the call rejects with the error of this code. `what` names the case in the failure. */
export async function expectRefused(refusal: Refusal, call: Promise<unknown>, what = ''): Promise<void> {
  const outcome = await settle(call)
  const seen =
    outcome instanceof Error
      ? { code: 'code' in outcome ? outcome.code : undefined, name: outcome.name, message: outcome.message }
      : { answer: outcome }
  expect(seen, what).toMatchObject({ code: `SANDBOX_SNAPSHOT_${refusal}`, name: classNames[refusal] })
}

/** Fails unless the call rejects, with whatever error. */
export async function expectRejected(call: Promise<unknown>, what: string): Promise<void> {
  const seen = await call.then(
    () => 'resolved',
    () => 'rejected',
  )
  expect(seen, what).toBe('rejected')
}

async function settle(call: Promise<unknown>): Promise<unknown> {
  try {
    return { resolved: await call }
  } catch (error) {
    return error
  }
}

interface State {
  heads: Record<string, string | null>
  lists: Record<string, SandboxCheckpoint[]>
  gets: Record<string, SandboxCheckpoint | null>
  references: SandboxBlobReference[]
}

/** All that readers see of these threads, and of these ids. */
export async function observe(
  store: SandboxCheckpointStore,
  threadIds: ReadonlyArray<string>,
  ids: ReadonlyArray<string> = [],
): Promise<State> {
  const state: State = { heads: {}, lists: {}, gets: {}, references: await store.listBlobReferences() }
  for (const threadId of threadIds) {
    state.heads[threadId] = await store.getHead(threadId)
    state.lists[threadId] = await store.list(threadId)
  }
  for (const id of ids) state.gets[id] = await store.get(id)
  return state
}

/** Fails when `work` changes what readers see of these threads and ids. */
export async function expectUnchanged(
  store: SandboxCheckpointStore,
  threadIds: ReadonlyArray<string>,
  ids: ReadonlyArray<string>,
  work: () => Promise<void>,
): Promise<void> {
  const before = await observe(store, threadIds, ids)
  await work()
  expect(await observe(store, threadIds, ids), 'a refused write changed the store').toEqual(before)
}

export async function expectList(
  store: SandboxCheckpointStore,
  threadId: string,
  ids: ReadonlyArray<string>,
): Promise<void> {
  expect(
    (await store.list(threadId)).map(({ id }) => id),
    `list(${threadId})`,
  ).toEqual(ids)
}

export async function expectReferences(
  store: SandboxCheckpointStore,
  counts: ReadonlyArray<[key: string, references: number]>,
): Promise<void> {
  expect(await store.listBlobReferences()).toEqual(counts.map(([key, references]) => ({ key, references })))
}
