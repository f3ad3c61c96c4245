import type { Condition } from '../table/table.ts'
import type { EncodedCheckpoint } from './codec.ts'

/**
 * The items of the table that checkpoints are made of. Arbitrary ids stand in them as hashes; their text is in the
 * body, and beside it where it is short, so that the common reads need no body.
 */

/** Where a checkpoint's id is short enough, its text is kept in the item: at most this many bytes of UTF-8. */
const SHORT_ID_BYTES = 256

/** Names a checkpoint of a thread. */
export interface CheckpointName {
  sequence: number
  idHash: string
  /** The id's text, if it is short. */
  id?: string
}

export interface ThreadState {
  /** The last fence given; grows for ever. */
  fence: number
  /** The lease, if there is one; it may have expired. */
  owner?: string
  expiresAt?: number
  head?: CheckpointName
  /** The last sequence number given; grows for ever. */
  sequence: number
  /** Checkpoints of a sequence below the mark are deleted, whether their items are still there or not. */
  mark: number
  /** How many checkpoints the thread has. */
  live: number
  /** Counts the writes: tells that a thread is as it was. */
  version: number
  /** The token of the last write. */
  lastWrite?: string
}

export interface CheckpointMeta extends CheckpointName {
  threadHash: string
  /** The checkpoint before it in the chain, unless it began one. */
  parent?: CheckpointName
  fileKeys: number
  artifactKeys: number
  jsonBytes: number
  /** The name of the body in S3, when it is not in the item. */
  bodyName?: string
}

export interface CheckpointRecord extends CheckpointMeta {
  /** The body, when it is in the item. */
  inline?: { keys: Buffer; body: Buffer }
}

export interface IdRecord {
  threadHash: string
  sequence: number
  /** The token of the write that made it. */
  token: string
}

type Attributes = Record<string, unknown>

export function checkpointName(sequence: number, idHash: string, id: string): CheckpointName {
  return Buffer.byteLength(id) <= SHORT_ID_BYTES ? { sequence, idHash, id } : { sequence, idHash }
}

/** A name as attributes whose names begin with `prefix`. */
export function nameAttributes(prefix: string, name: CheckpointName): Attributes {
  const attributes: Attributes = { [`${prefix}Seq`]: name.sequence, [`${prefix}Hash`]: name.idHash }
  if (name.id !== undefined) attributes[`${prefix}Id`] = name.id
  return attributes
}

function readName(prefix: string, item: Attributes): CheckpointName | undefined {
  const sequence = item[`${prefix}Seq`]
  if (sequence === undefined) return undefined
  const name: CheckpointName = { sequence: sequence as number, idHash: item[`${prefix}Hash`] as string }
  const id = item[`${prefix}Id`]
  if (id !== undefined) name.id = id as string
  return name
}

export function readThread(item: Attributes): ThreadState {
  const state: ThreadState = {
    fence: item.fence as number,
    sequence: item.seq as number,
    mark: item.mark as number,
    live: item.live as number,
    version: item.version as number,
  }
  if (item.owner !== undefined) state.owner = item.owner as string
  if (item.expiresAt !== undefined) state.expiresAt = item.expiresAt as number
  if (item.lastWrite !== undefined) state.lastWrite = item.lastWrite as string
  const head = readName('head', item)
  if (head) state.head = head
  return state
}

/** The attributes of a checkpoint item. The body is `inline` or the object `bodyName`. */
export function checkpointAttributes(
  name: CheckpointName,
  parent: CheckpointName | undefined,
  encoded: EncodedCheckpoint,
  bodyName: string | undefined,
): Attributes {
  const { fileKeys, artifactKeys, jsonBytes } = encoded
  return {
    ...nameAttributes('id', name),
    ...(parent && nameAttributes('parent', parent)),
    fileKeys,
    artifactKeys,
    jsonBytes,
    ...(bodyName === undefined ? { keys: encoded.keys, body: encoded.body } : { bodyName }),
  }
}

export function readCheckpoint(threadHash: string, item: Attributes): CheckpointRecord {
  const name = readName('id', item)
  if (!name) throw new Error('A checkpoint item of the table has no name.')
  const record: CheckpointRecord = {
    ...name,
    threadHash,
    fileKeys: item.fileKeys as number,
    artifactKeys: item.artifactKeys as number,
    jsonBytes: item.jsonBytes as number,
  }
  const parent = readName('parent', item)
  if (parent) record.parent = parent
  if (item.bodyName !== undefined) record.bodyName = item.bodyName as string
  else if (item.keys !== undefined) {
    record.inline = { keys: asBuffer(item.keys), body: asBuffer(item.body) }
  }
  return record
}

export function idAttributes(threadHash: string, sequence: number, token: string): Attributes {
  return { thread: threadHash, seq: sequence, token }
}

export function readId(item: Attributes): IdRecord {
  return { threadHash: item.thread as string, sequence: item.seq as number, token: item.token as string }
}

function asBuffer(value: unknown): Buffer {
  if (value === undefined) return Buffer.alloc(0)
  const bytes = value as Uint8Array
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** The condition that an id item is still the one that was read. */
export function sameIdItem({ threadHash, sequence }: Pick<IdRecord, 'threadHash' | 'sequence'>): Condition {
  return {
    condition: '#thread = :thread AND #seq = :seq',
    names: { '#thread': 'thread', '#seq': 'seq' },
    values: { ':thread': threadHash, ':seq': sequence },
  }
}
