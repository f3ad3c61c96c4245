import { findOwnCheckpoint } from '../checkpoints/own-thread.ts'
import { loadCheckpoint } from '../checkpoints/read.ts'
import { InvalidInputError, NotFoundError } from '../errors.ts'
import {
  sandboxKey,
  sandboxPartition,
  sequenceText,
  snapshotKey,
  snapshotPartition,
  workspaceKey as workspaceItemKey,
  workspaceSandboxKey,
} from '../table/keys.ts'
import type { Item } from '../table/table.ts'
import { retryTransient, TransientError } from '../table/transient.ts'
import type { SandboxContext, SandboxTable } from './context.ts'
import {
  isPastRetention,
  readSandbox,
  readSnapshot,
  readWorkspace,
  type SandboxState,
  type SnapshotItem,
  sandboxRecord,
  type WorkspaceState,
} from './items.ts'
import type { ListSandboxesInput, SandboxRecord, SnapshotManifest, SnapshotRecord } from './types.ts'
import { isWorkspaceKey } from './validate.ts'

const sandboxIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** As many keys as DynamoDB takes in one BatchGetItem. */
const BATCH_KEYS = 100
/** How many sandboxes one request for a list looks at: of the largest, with 17 KB each, that is some seconds' work. */
const MOST_LOOKED_AT = 5_000

/** What is no id at all is an unknown one. */
export function isSandboxId(text: unknown): text is string {
  return typeof text === 'string' && sandboxIdPattern.test(text)
}

export function sandboxNotFound(): NotFoundError {
  return new NotFoundError('There is no such sandbox.')
}

/** The state of a sandbox that reads as one. */
export async function findSandbox(context: SandboxTable, sandboxId: string): Promise<SandboxState | undefined> {
  const { table, scope, now, retentionMs } = context
  if (!isSandboxId(sandboxId)) return undefined
  const item = await table.get(sandboxKey(scope, sandboxId))
  const state = item && readSandbox(item)
  return state && !isPastRetention(state, now(), retentionMs) ? state : undefined
}

export async function getSandbox(context: SandboxTable, sandboxId: string): Promise<SandboxRecord | null> {
  const state = await retryTransient(() => findSandbox(context, sandboxId))
  return state ? sandboxRecord(state, context.now()) : null
}

export async function getWorkspace(
  { table, scope }: Pick<SandboxTable, 'table' | 'scope'>,
  name: string,
): Promise<WorkspaceState | undefined> {
  const item = await table.get(workspaceItemKey(scope, name))
  return item && readWorkspace(item)
}

/**
 * Newest first, of all or of one workspace key. A page is as full as there are sandboxes that fit the filter, unless so
 * few fit that the request has looked at `mostLookedAt`: then it ends there, and the next one goes on.
 */
export async function listSandboxes(
  context: SandboxTable,
  { taskId, status, limit, after }: ListSandboxesInput,
  mostLookedAt = MOST_LOOKED_AT,
): Promise<{ sandboxes: SandboxRecord[]; next: string | null }> {
  const now = context.now()
  // One more than fits tells whether there is a next page.
  const range = { after, firstPageSize: Math.min(limit, mostLookedAt) + 1 }
  const pages = taskId === undefined ? allSandboxes(context, range) : sandboxesOf(context, taskId, range)
  const sandboxes: SandboxRecord[] = []
  let next: string | null = null
  let lookedAt = 0
  for await (const page of pages) {
    for (const { state, place } of page) {
      const record = sandboxRecord(state, now)
      const fits = !isPastRetention(state, now, context.retentionMs) && (status ?? record.status) === record.status
      if ((fits && sandboxes.length === limit) || lookedAt === mostLookedAt) return { sandboxes, next }
      if (fits) sandboxes.push(record)
      lookedAt += 1
      next = place
    }
  }
  return { sandboxes, next: null }
}

/** A sandbox with what a list that goes on after it is told. */
interface Placed {
  state: SandboxState
  place: string
}

interface Range {
  after: string | undefined
  firstPageSize: number
}

async function* allSandboxes(
  { table, scope }: SandboxTable,
  { after, firstPageSize }: Range,
): AsyncGenerator<Placed[]> {
  if (after !== undefined && !isSandboxId(after)) throw badPage()
  const options = { reverse: true, firstPageSize, ...(after !== undefined && { after }) }
  for await (const items of table.query(sandboxPartition(scope), options)) {
    yield items.map((item) => ({ state: readSandbox(item), place: item.sk as string }))
  }
}

async function* sandboxesOf(
  context: SandboxTable,
  name: string,
  { after, firstPageSize }: Range,
): AsyncGenerator<Placed[]> {
  const { table, scope } = context
  if (after !== undefined && !/^\d{1,16}$/.test(after)) throw badPage()
  if (!isWorkspaceKey(name)) return
  const { pk, sk: prefix } = workspaceSandboxKey(scope, name, 0)
  const options = {
    prefix: prefix.slice(0, -sequenceText(0).length),
    reverse: true,
    pageSize: Math.min(BATCH_KEYS, firstPageSize),
    ...(after !== undefined && { after: workspaceSandboxKey(scope, name, Number(after)).sk }),
  }
  for await (const entries of table.query(pk, options)) {
    if (entries.length === 0) continue
    const keys = entries.map(({ sandboxId }) => sandboxKey(scope, sandboxId as string))
    const items = await retryTransient(() => table.batchGet(keys))
    const states = new Map(items.map((item) => [item.sk, readSandbox(item)]))
    yield entries.flatMap(({ sandboxId, order }) => {
      const state = states.get(sandboxId)
      return state ? { state, place: String(order) } : []
    })
  }
}

function badPage(): InvalidInputError {
  return new InvalidInputError('page', 'page must be the next_page of an earlier answer to the same request.')
}

/** A snapshot that reads as one: of a sandbox past its retention only what the pointer or a pin keeps. */
export async function findSnapshot(
  context: SandboxTable,
  sandboxId: string,
  snapshotSeq: number,
): Promise<SnapshotItem | undefined> {
  const { table, scope, now, retentionMs } = context
  if (!isSandboxId(sandboxId)) return undefined
  const keys = [snapshotKey(scope, sandboxId, snapshotSeq), sandboxKey(scope, sandboxId)]
  const [item, sandbox] = await table.transactGet(keys)
  if (!item || !sandbox) return undefined
  const snapshot = readSnapshot(item)
  const isKept = !isPastRetention(readSandbox(sandbox), now(), retentionMs) || snapshot.pins > 0
  return isKept || (await isLatest(context, snapshot)) ? snapshot : undefined
}

/** Whether the pointer of the snapshot's workspace key names it. */
export async function isLatest(
  context: Pick<SandboxTable, 'table' | 'scope'>,
  snapshot: SnapshotItem,
): Promise<boolean> {
  if (snapshot.workspaceKey === undefined) return false
  return isNamedBy(await getWorkspace(context, snapshot.workspaceKey), snapshot)
}

export function isNamedBy(workspace: WorkspaceState | undefined, snapshot: SnapshotItem): boolean {
  const { latest } = workspace ?? {}
  return latest?.sandboxId === snapshot.sandboxId && latest.snapshotSeq === snapshot.snapshotSeq
}

export async function getSnapshot(
  context: SandboxContext,
  sandboxId: string,
  snapshotSeq: number,
): Promise<SnapshotManifest | null> {
  return retryTransient(async () => {
    const snapshot = await findSnapshot(context, sandboxId, snapshotSeq)
    if (!snapshot) return null
    const [record, latest] = await Promise.all([
      findOwnCheckpoint(context, snapshot.checkpointId),
      isLatest(context, snapshot),
    ])
    if (!record) throw new TransientError('A snapshot was removed while it was read.')
    const { files, artifacts, conversation } = await loadCheckpoint(context, record)
    return { ...snapshotRecord(snapshot, latest), files, artifacts, conversation }
  })
}

/** In the order of their saving. @throws NotFoundError, InvalidInputError */
export async function listSnapshots(
  context: SandboxTable,
  sandboxId: string,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<{ snapshots: SnapshotRecord[]; next: string | null }> {
  const { table, scope } = context
  if (after !== undefined && !/^\d{1,16}$/.test(after)) throw badPage()
  const sandbox = await retryTransient(() => findSandbox(context, sandboxId))
  if (!sandbox) throw sandboxNotFound()
  const { workspaceKey } = sandbox
  const workspace =
    workspaceKey === undefined ? undefined : await retryTransient(() => getWorkspace(context, workspaceKey))
  const options = { pageSize: limit + 1, ...(after !== undefined && { after: sequenceText(Number(after)) }) }
  const items: Item[] = []
  for await (const page of table.query(snapshotPartition(scope, sandboxId), options)) {
    items.push(...page)
    if (items.length > limit) break
  }
  const snapshots = items.slice(0, limit).map((item) => {
    const snapshot = readSnapshot(item)
    return snapshotRecord(snapshot, isNamedBy(workspace, snapshot))
  })
  const last = snapshots.at(-1)
  return { snapshots, next: last && items.length > limit ? String(last.snapshotSeq) : null }
}

export function snapshotRecord(snapshot: SnapshotItem, latest: boolean): SnapshotRecord {
  const { workspaceKey = null, label = null, pins: _pins, ...named } = snapshot
  return { ...named, workspaceKey, label, latest }
}
