import pMap from 'p-map'
import { PageExpiredError } from '../errors.ts'
import { checkpointKey, idKey, threadKey } from '../table/keys.ts'
import type { Item } from '../table/table.ts'
import { retryTransient, TransientError } from '../table/transient.ts'
import { hashText } from '../text.ts'
import { type Chain, readChain } from './chain.ts'
import { decodeCheckpoint } from './codec.ts'
import type { StoreContext } from './context.ts'
import { type CheckpointRecord, readCheckpoint, readId, readThread, type ThreadState } from './items.ts'
import { compareCheckpoints } from './order.ts'
import type { SandboxCheckpoint } from './types.ts'
import { checkId } from './validate.ts'

/** How many bodies are read from S3 at a time. */
export const BODY_CONCURRENCY = 32

/** As many keys as DynamoDB takes in one BatchGetItem, and how many of those run at a time. */
const BATCH_KEYS = 100
const BATCH_CONCURRENCY = 8

/** What the items of a thread hold beside the bodies, for reads that need no bodies. */
export const META_ATTRIBUTES = [
  'sk',
  ...['fence', 'seq', 'mark', 'live', 'version', 'headSeq', 'headHash', 'headId'],
  ...['idSeq', 'idHash', 'idId', 'parentSeq', 'parentHash', 'parentId'],
  ...['fileKeys', 'artifactKeys', 'jsonBytes', 'bodyName'],
] as const

export async function getThread(
  { table, scope }: Pick<StoreContext, 'table' | 'scope'>,
  threadHash: string,
): Promise<ThreadState | undefined> {
  const item = await table.get(threadKey(scope, threadHash))
  return item && readThread(item)
}

/** @throws SandboxCheckpointInvalidIdError */
export async function getCheckpoint(context: StoreContext, id: string): Promise<SandboxCheckpoint | null> {
  checkId(id, 'id')
  return retryTransient(async () => {
    const record = await findCheckpoint(context, hashText(id))
    return record ? loadCheckpoint(context, record) : null
  })
}

/** The live checkpoint of an id. */
export async function findCheckpoint(context: StoreContext, idHash: string): Promise<CheckpointRecord | undefined> {
  const { table, scope } = context
  const idItem = await table.get(idKey(scope, idHash))
  if (!idItem) return undefined
  const { threadHash, sequence } = readId(idItem)
  const keys = [threadKey(scope, threadHash), checkpointKey(scope, threadHash, sequence)]
  const items = await table.batchGet(keys)
  const [thread, checkpoint] = keys.map(({ sk }) => items.find((item) => item.sk === sk))
  if (!thread || !checkpoint || sequence < readThread(thread).mark) return undefined
  return readCheckpoint(threadHash, checkpoint)
}

/**
 * The checkpoint of a record with its body.
 * @throws TransientError when the body is gone: the checkpoint was deleted since the record was read.
 */
export async function loadCheckpoint({ bodies }: StoreContext, record: CheckpointRecord): Promise<SandboxCheckpoint> {
  const stored = await bodies.read(record)
  if (!stored) throw new TransientError('A checkpoint was deleted while it was read.')
  return decodeCheckpoint({ ...stored, fileKeys: record.fileKeys })
}

/** @throws SandboxCheckpointInvalidIdError */
export async function getHead(context: StoreContext, threadId: string): Promise<string | null> {
  checkId(threadId, 'threadId')
  const threadHash = hashText(threadId)
  return retryTransient(async () => {
    const state = await getThread(context, threadHash)
    return state ? headIdOf(context, threadHash, state) : null
  })
}

/** The text of a thread's head id: a long one stands only in the checkpoint's body. */
export async function headIdOf(context: StoreContext, threadHash: string, state: ThreadState): Promise<string | null> {
  if (!state.head) return null
  if (state.head.id !== undefined) return state.head.id
  const item = await context.table.get(checkpointKey(context.scope, threadHash, state.head.sequence))
  if (!item) throw new TransientError('The head moved while it was read.')
  return idOf(context, readCheckpoint(threadHash, item))
}

/** The text of a checkpoint's id. The record may have been read without its inline body. */
export async function idOf(context: StoreContext, record: CheckpointRecord): Promise<string> {
  if (record.id !== undefined) return record.id
  const [whole = record] = record.inline ? [record] : await withInlineBodies(context, [record])
  return (await loadCheckpoint(context, whole)).id
}

/** A thread's chain; undefined for a thread that never was. `attributes`: what to read of its items, default all. */
export async function readThreadChain(
  { table, scope }: Pick<StoreContext, 'table' | 'scope'>,
  threadHash: string,
  attributes?: readonly string[],
): Promise<Chain | undefined> {
  const { pk, sk } = threadKey(scope, threadHash)
  const items: Item[] = []
  for await (const page of table.query(pk, { prefix: sk, ...(attributes && { attributes }) })) items.push(...page)
  if (items.length === 0) return undefined
  const chain = readChain(items)
  if (!chain) throw new TransientError('A thread changed while it was read.')
  return chain
}

/** As `readThreadChain`, without bodies. */
export function readThreadMeta(context: StoreContext, threadHash: string): Promise<Chain | undefined> {
  return readThreadChain(context, threadHash, META_ATTRIBUTES)
}

/** @throws SandboxCheckpointInvalidIdError */
export async function listCheckpoints(context: StoreContext, threadId: string): Promise<SandboxCheckpoint[]> {
  checkId(threadId, 'threadId')
  const threadHash = hashText(threadId)
  return retryTransient(async () => {
    const chain = await readThreadChain(context, threadHash)
    const checkpoints = await loadAll(context, chain?.checkpoints ?? [])
    return checkpoints.sort(compareCheckpoints)
  })
}

function loadAll(context: StoreContext, records: CheckpointRecord[]): Promise<SandboxCheckpoint[]> {
  return pMap(records, (record) => loadCheckpoint(context, record), { concurrency: BODY_CONCURRENCY })
}

export interface ListPageInput {
  threadId: string
  /** The `next` of the page before; left out for the first page. */
  after?: string | null
  /** Bytes of JSON at which a page is cut; a page holds at least one checkpoint. */
  maxBytes: number
}

/**
 * A page of a thread's checkpoints in the order in which they were appended. All pages show the thread as it was when
 * the first was read.
 * @throws SandboxCheckpointInvalidIdError
 * @throws PageExpiredError when the thread changed since the first page, or the token is not one of this thread.
 */
export async function listPage(
  context: StoreContext,
  { threadId, after, maxBytes }: ListPageInput,
): Promise<{ checkpoints: SandboxCheckpoint[]; next: string | null }> {
  checkId(threadId, 'threadId')
  const threadHash = hashText(threadId)
  return retryTransient(async () => {
    const chain = await readThreadMeta(context, threadHash)
    const version = chain?.state.version ?? 0
    const start = after == null ? 0 : readPageToken(after, threadHash, version)
    const rest = (chain?.checkpoints ?? []).filter((record) => record.sequence > start)
    const page = takeBytes(rest, maxBytes)
    const checkpoints = await loadAll(context, await withInlineBodies(context, page))
    const last = page.at(-1)
    return { checkpoints, next: last && page.length < rest.length ? pageToken(threadHash, version, last) : null }
  })
}

/** Names the thread, so that one of another thread is not taken for a place in this one. */
function pageToken(threadHash: string, version: number, { sequence }: CheckpointRecord): string {
  return `${threadHash}.${version}.${sequence}`
}

function readPageToken(token: string, threadHash: string, version: number): number {
  const [, tokenThread, tokenVersion, sequence] = /^([0-9a-f]{64})\.(\d{1,16})\.(\d{1,16})$/.exec(token) ?? []
  if (tokenThread !== threadHash || Number(tokenVersion) !== version) throw new PageExpiredError()
  return Number(sequence)
}

function takeBytes(records: CheckpointRecord[], maxBytes: number): CheckpointRecord[] {
  let bytes = 0
  const end = records.findIndex((record, index) => {
    bytes += record.jsonBytes
    return index > 0 && bytes > maxBytes
  })
  return end === -1 ? records : records.slice(0, end)
}

/** The records of one thread, which were read without bodies, with those bodies that are in the items. */
async function withInlineBodies(
  { table, scope }: StoreContext,
  records: CheckpointRecord[],
): Promise<CheckpointRecord[]> {
  const keyOf = ({ threadHash, sequence }: CheckpointRecord) => checkpointKey(scope, threadHash, sequence)
  const keys = records.filter(({ bodyName }) => bodyName === undefined).map(keyOf)
  const batches = Array.from({ length: Math.ceil(keys.length / BATCH_KEYS) }, (_, index) =>
    keys.slice(index * BATCH_KEYS, (index + 1) * BATCH_KEYS),
  )
  const read = await pMap(batches, (batch) => table.batchGet(batch), { concurrency: BATCH_CONCURRENCY })
  const items = new Map(read.flat().map((item) => [item.sk, item]))
  return records.map((record) => {
    if (record.bodyName !== undefined) return record
    const item = items.get(keyOf(record).sk)
    if (!item) throw new TransientError('A checkpoint was deleted while its thread was listed.')
    return readCheckpoint(record.threadHash, item)
  })
}
