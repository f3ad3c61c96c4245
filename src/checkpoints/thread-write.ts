import { randomUUID } from 'node:crypto'
import { TABLE } from '../table/schema.ts'
import type { Item, Update } from '../table/table.ts'
import { hashText } from '../text.ts'
import { type CheckpointName, nameAttributes, readThread, type ThreadState } from './items.ts'
import type { SandboxCheckpointWriter } from './types.ts'
import { CURRENT_LEASE, checkWriter, LEASE_NAMES, leaseValues } from './writer.ts'

/** Hex digits: 128 bits, no longer than a random token. */
const TOKEN_LENGTH = 32

/** What a write makes of a thread. */
export interface ThreadChange {
  /** The new head; undefined for none. */
  head: CheckpointName | undefined
  sequence: number
  mark: number
  live: number
  /** The token of the write. */
  token: string
}

/**
 * The token of a write: what is stored with it, so that a repeat finds that it has landed. A caller's token of any text
 * is bound to what it writes (`content`: a hash of it), so that the same one sent with another write is not taken for
 * a repeat.
 */
export function writeToken(
  requestToken: string | undefined,
  write: { operation: 'add' | 'delete'; threadHash: string; content: string },
): string {
  if (requestToken === undefined) return randomUUID()
  const { operation, threadHash, content } = write
  return hashText(`${operation} ${threadHash} ${content} ${requestToken}`).slice(0, TOKEN_LENGTH)
}

/**
 * The update of a thread item that every write is built on: under the writer's current lease, from exactly the state
 * that was read. `release`: it ends the lease.
 */
export function threadUpdate(
  state: ThreadState,
  change: ThreadChange,
  writer: SandboxCheckpointWriter,
  now: number,
  release = false,
): Update {
  const attributes: Record<string, unknown> = {
    seq: change.sequence,
    mark: change.mark,
    live: change.live,
    version: state.version + 1,
    lastWrite: change.token,
    ...(change.head && nameAttributes('head', change.head)),
  }
  const removed = [
    ...['headSeq', 'headHash', 'headId'].filter((name) => !Object.hasOwn(attributes, name)),
    ...(release ? ['owner', 'expiresAt', TABLE.ttl] : []),
  ]
  const set = Object.keys(attributes).map((name) => `#${name} = :${name}`)
  return {
    expression: `SET ${set.join(', ')}${removed.length > 0 ? ` REMOVE ${removed.map((name) => `#${name}`).join(', ')}` : ''}`,
    condition: `${CURRENT_LEASE} AND #version = :readVersion`,
    names: {
      ...LEASE_NAMES,
      ...Object.fromEntries([...Object.keys(attributes), ...removed].map((name) => [`#${name}`, name])),
    },
    values: {
      ...leaseValues(writer, now),
      ':readVersion': state.version,
      ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`:${name}`, value])),
    },
  }
}

/** The thread after a change. */
export function changed(state: ThreadState, { head, token, ...numbers }: ThreadChange): ThreadState {
  const { head: _head, ...kept } = state
  return { ...kept, ...numbers, ...(head && { head }), version: state.version + 1, lastWrite: token }
}

/**
 * Reads the refusal of a thread update off the item that refused it: true when the item shows this very write, which
 * landed before though its answer was lost; false when something else was written, so that the work must begin anew.
 * @throws SandboxCheckpointWriterLostError when the writer's lease is not current any more.
 */
export function refusedByOwnWrite(
  item: Item | undefined,
  write: { token: string; writer: SandboxCheckpointWriter; now: number },
): boolean {
  const state = item && readThread(item)
  if (state?.lastWrite === write.token) return true
  checkWriter(state, write.writer, write.now)
  return false
}
