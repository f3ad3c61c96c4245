import pMap from 'p-map'
import { PageExpiredError } from '../errors.ts'
import { checkpointKey, idKey, SHARDS, shardPartition, threadHashOf, threadKey } from '../table/keys.ts'
import type { Item } from '../table/table.ts'
import { retryTransient, TransientError } from '../table/transient.ts'
import { compareUtf8, hashText } from '../text.ts'
import { byThread, type Chain, readChain } from './chain.ts'
import { decodeCheckpoint, unpackKeys } from './codec.ts'
import type { StoreContext } from './context.ts'
import { type CheckpointRecord, readCheckpoint, readId, readThread, type ThreadState } from './items.ts'
import type { SandboxBlobReference, SandboxCheckpoint } from './types.ts'
import { checkId } from './validate.ts'

/** How many bodies are read from S3 at a time. */
const BODY_CONCURRENCY = 32

/** What the items of a thread hold beside the bodies, for reads that need no bodies. */
export const META_ATTRIBUTES = [
  'sk',
  ...['fence', 'seq', 'mark', 'live', 'version', 'headSeq', 'headHash', 'headId'],
  ...['idSeq', 'idHash', 'idId', 'parentSeq', 'parentHash', 'parentId'],
  ...['fileKeys', 'artifactKeys', 'jsonBytes', 'bodyName'],
] as const

const KEYS_ATTRIBUTES = [...META_ATTRIBUTES, 'keys'] as const

export async function getThread({ table, scope }: StoreContext, threadHash: string): Promise<ThreadState | undefined> {
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

/** The text of a checkpoint's id. */
export async function idOf(context: StoreContext, record: CheckpointRecord): Promise<string> {
  return record.id ?? (await loadCheckpoint(context, record)).id
}

/** A thread's chain; undefined for a thread that never was. `attributes`: what to read of its items, default all. */
export async function readThreadChain(
  { table, scope }: StoreContext,
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

/** The contract's order: `createdAt`, then the UTF-8 bytes of the id. */
export function compareCheckpoints(left: SandboxCheckpoint, right: SandboxCheckpoint): number {
  return left.createdAt - right.createdAt || compareUtf8(left.id, right.id)
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
    const checkpoints = await pMap(page, (record) => loadFromMeta(context, record), { concurrency: BODY_CONCURRENCY })
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

/** The checkpoint of a record that was read without its inline body. */
async function loadFromMeta(context: StoreContext, record: CheckpointRecord): Promise<SandboxCheckpoint> {
  if (record.bodyName !== undefined) return loadCheckpoint(context, record)
  const item = await context.table.get(checkpointKey(context.scope, record.threadHash, record.sequence))
  if (!item) throw new TransientError('A checkpoint was deleted while its thread was listed.')
  return loadCheckpoint(context, readCheckpoint(record.threadHash, item))
}

/** How many checkpoints of the scope use each blob key, by the UTF-8 bytes of the key. */
export async function listBlobReferences(context: StoreContext): Promise<SandboxBlobReference[]> {
  const counts = new Map<string, number>()
  for (const shard of SHARDS) {
    const pages = context.table.query(shardPartition(context.scope, shard), { attributes: KEYS_ATTRIBUTES })
    for await (const items of byThread(pages)) {
      for (const key of await threadKeys(context, items)) counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  // Keys are ASCII: the default order is that of their bytes.
  return [...counts.keys()].sort().map((key) => ({ key, references: counts.get(key) ?? 0 }))
}

/** The blob keys of a thread's checkpoints, each as often as a checkpoint uses it; read again where `items` do not fit. */
async function threadKeys(context: StoreContext, items: Item[]): Promise<string[]> {
  let chain = readChain(items)
  return retryTransient(async (attempt) => {
    if (attempt > 1 || !chain) chain = await readThreadChain(context, hashOfThread(items), KEYS_ATTRIBUTES)
    const keys = await pMap(chain?.checkpoints ?? [], (record) => checkpointKeys(context, record), {
      concurrency: BODY_CONCURRENCY,
    })
    return keys.flat()
  })
}

async function checkpointKeys({ bodies }: StoreContext, record: CheckpointRecord): Promise<string[]> {
  const packed = await bodies.readKeys(record)
  if (!packed) throw new TransientError('A checkpoint was deleted while its keys were read.')
  return unpackKeys(packed, record.fileKeys)
}

function hashOfThread([first]: Item[]): string {
  return threadHashOf(String(first?.sk))
}
