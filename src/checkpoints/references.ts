import pMap from 'p-map'
import { SHARDS, shardPartition, threadHashOf } from '../table/keys.ts'
import type { Item } from '../table/table.ts'
import { retryTransient, TransientError } from '../table/transient.ts'
import { byThread, readChain } from './chain.ts'
import { unpackKeys } from './codec.ts'
import type { StoreContext } from './context.ts'
import type { CheckpointRecord } from './items.ts'
import { BODY_CONCURRENCY, META_ATTRIBUTES, readThreadChain } from './read.ts'
import type { SandboxBlobReference } from './types.ts'

const KEYS_ATTRIBUTES = [...META_ATTRIBUTES, 'keys'] as const

type KeyListContext = Pick<StoreContext, 'table' | 'scope' | 'bodies'>

/** The distinct blob keys of one checkpoint. */
export interface KeyList {
  /** 32 bytes a key; those of files come first. */
  packed: Buffer
  fileKeys: number
}

/** How many checkpoints of the scope use each blob key, by the UTF-8 bytes of the key. */
export async function listBlobReferences(context: StoreContext): Promise<SandboxBlobReference[]> {
  const counts = new Map<string, number>()
  await eachKeyList(context, ({ packed, fileKeys }) => {
    for (const key of unpackKeys(packed, fileKeys)) counts.set(key, (counts.get(key) ?? 0) + 1)
  })
  // Keys are ASCII: the default order is that of their bytes.
  return [...counts.keys()].sort().map((key) => ({ key, references: counts.get(key) ?? 0 }))
}

/**
 * Visits the key list of each checkpoint of the scope, in no order; those of one thread as they stood at one instant.
 * The shards are read at the same time.
 */
export async function eachKeyList(context: KeyListContext, visit: (list: KeyList) => void): Promise<void> {
  await pMap(SHARDS, async (shard) => {
    const pages = context.table.query(shardPartition(context.scope, shard), { attributes: KEYS_ATTRIBUTES })
    for await (const items of byThread(pages)) for (const list of await threadLists(context, items)) visit(list)
  })
}

/** The key lists of a thread; read again where `items` are of different instants. */
async function threadLists(context: KeyListContext, items: Item[]): Promise<KeyList[]> {
  let chain = readChain(items)
  return retryTransient(async (attempt) => {
    if (attempt > 1 || !chain) chain = await readThreadChain(context, hashOfThread(items), KEYS_ATTRIBUTES)
    return pMap(chain?.checkpoints ?? [], (record) => keyList(context, record), { concurrency: BODY_CONCURRENCY })
  })
}

async function keyList({ bodies }: Pick<StoreContext, 'bodies'>, record: CheckpointRecord): Promise<KeyList> {
  const packed = await bodies.readKeys(record)
  if (!packed) throw new TransientError('A checkpoint was deleted while its keys were read.')
  return { packed, fileKeys: record.fileKeys }
}

function hashOfThread([first]: Item[]): string {
  return threadHashOf(String(first?.sk))
}
