import { threadHashOf } from '../table/keys.ts'
import type { Item } from '../table/table.ts'
import { type CheckpointName, type CheckpointRecord, readCheckpoint, readThread, type ThreadState } from './items.ts'

/** A thread and its checkpoints as they stood at one instant. */
export interface Chain {
  state: ThreadState
  /** Oldest first; the last is the head. */
  checkpoints: CheckpointRecord[]
  /** Deleted checkpoints whose items are still there. */
  dead: CheckpointRecord[]
}

/**
 * Makes a chain of a thread's items in the order of their sort keys: the thread's item, then its checkpoints'. A query
 * does not read its items at one instant, so the chain is what the thread's item says it is: from its head, through
 * parents, down to its mark.
 *
 * @returns undefined when the items do not hold just that chain, being of different instants: read them again.
 */
export function readChain(items: Item[]): Chain | undefined {
  const [first, ...rest] = items
  if (!first) return undefined
  const threadHash = threadHashOf(first.sk as string)
  const state = readThread(first)
  const records = rest
    .map((item) => readCheckpoint(threadHash, item))
    .filter(({ sequence }) => sequence <= state.sequence)
  const dead = records.filter(({ sequence }) => sequence < state.mark)
  const checkpoints = records.slice(dead.length)
  let next = state.head
  for (const record of checkpoints.toReversed()) {
    if (record.sequence !== next?.sequence) return undefined
    next = liveParent(record, state)
  }
  return next ? undefined : { state, checkpoints, dead }
}

/** The parent of a checkpoint, unless it has none or the parent is deleted. */
export function liveParent({ parent }: CheckpointRecord, { mark }: ThreadState): CheckpointName | undefined {
  return parent && parent.sequence >= mark ? parent : undefined
}

/** Splits the items of a shard, in the order of their sort keys, into those of each thread; a thread may span pages. */
export async function* byThread(pages: AsyncIterable<Item[]>): AsyncGenerator<Item[]> {
  let thread: Item[] = []
  let hash = ''
  for await (const page of pages) {
    for (const item of page) {
      const next = threadHashOf(item.sk as string)
      if (next !== hash) {
        if (thread.length > 0) yield thread
        thread = []
        hash = next
      }
      thread.push(item)
    }
  }
  if (thread.length > 0) yield thread
}
