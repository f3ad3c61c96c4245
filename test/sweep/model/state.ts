import type { SeenLease } from '../../../src/sweep/protocol.ts'

/**
 * What the model's actors share, and how far each of them is. Keys and threads are small numbers, a set of keys is a
 * bit mask, the name of a version is also the time of its upload. States are never changed in place.
 */
export interface State {
  /** The versions of each key, oldest first: the last is the current one. */
  bucket: number[][]
  /** How many versions were ever uploaded. */
  uploads: number
  pages: Page[]
  threads: Thread[]
  writers: Writer[]
  sweepers: Sweeper[]
  /** A delete that a sweeper sent before it crashed, and that arrives when it likes. */
  delayed: Entry | undefined
  bounds: Bounds
}

/** What keeps the states few enough. */
export interface Bounds {
  /** How many pages there are at a time. */
  pages: number
  /** How many deletes may be on their way from sweepers that have crashed. */
  delayed: 0 | 1
  /** The references that are subtracted to condemn may be of any time before, that is, any at all. */
  staleReferences: boolean
}

export interface Entry {
  key: number
  version: number
  /** As it was listed. */
  current: boolean
}

export interface Page {
  id: number
  entries: Entry[]
  note: SeenLease[] | undefined
  /** What goes, once it is decided. */
  doomed: Entry[] | undefined
}

export interface Thread {
  fence: number
  /** The writer whose lease it is. Leases may be past their end at any time: nothing is known of the clocks. */
  owner: number | undefined
  sequence: number
  /** The live checkpoints, oldest first: the last is the head. */
  checkpoints: Array<{ sequence: number; keys: number }>
}

/** What a writer is to do, under one lease. */
export type Task = { thread: number } & (
  | {
      kind: 'capture' /** Keys to ask for. */
      asks: number /** Uses the keys of the head unasked. */
      inherits: boolean
    }
  | { kind: 'fork'; source: number }
  | { kind: 'deleteHead' }
  | { kind: 'prune' }
)

export interface Writer {
  task: Task
  at: 'start' | 'source' | 'pages' | 'bucket' | 'upload' | 'commit' | 'end'
  fence: number
  /** The sequence of the head that a capture builds on, or of the checkpoint that is forked; 0 for none. */
  base: number
  /** The keys of the checkpoint in the making. */
  keys: number
  /** Of the keys that were asked for: those on pages, those to look for in the bucket, those to upload. */
  condemned: number
  unseen: number
  missing: number
}

export interface Sweeper {
  at: 'idle' | 'list' | 'write' | 'note' | 'setNote' | 'references' | 'decide' | 'delete' | 'remove'
  /** The next thread to read. */
  thread: number
  /** The keys that the threads read so far refer to. */
  references: number
  leases: SeenLease[]
  /** What is to be condemned, or deleted. */
  entries: Entry[]
  page: number | undefined
}

export interface Step {
  label: string
  state: State
}

export const IDLE: Sweeper = { at: 'idle', thread: 0, references: 0, leases: [], entries: [], page: undefined }

const WRITER: Omit<Writer, 'task'> = { at: 'start', fence: 0, base: 0, keys: 0, condemned: 0, unseen: 0, missing: 0 }

export interface Scenario {
  /** The keys of the checkpoints of each thread, oldest first. */
  threads: number[][]
  /** The keys that are stored. */
  stored: number
  keys: number
  tasks: Task[]
  sweepers: number
  bounds: Bounds
}

export function initialState({ threads, stored, keys, tasks, sweepers, bounds }: Scenario): State {
  const bucket = Array.from({ length: keys }, (_, key) => (has(stored, key) ? [key + 1] : []))
  return {
    bucket,
    uploads: keys,
    pages: [],
    threads: threads.map((checkpoints) => ({
      fence: 0,
      owner: undefined,
      sequence: checkpoints.length,
      checkpoints: checkpoints.map((used, index) => ({ sequence: index + 1, keys: used })),
    })),
    writers: tasks.map((task) => ({ ...WRITER, task })),
    sweepers: Array.from({ length: sweepers }, () => IDLE),
    delayed: undefined,
    bounds,
  }
}

/** The lease's holder has gone, or is done: nothing of what it knew matters any more. */
export function ended(writer: Writer): Writer {
  return { ...WRITER, task: writer.task, at: 'end' }
}

export function has(mask: number, key: number): boolean {
  return (mask & (1 << key)) !== 0
}

export function keysOf(mask: number): number[] {
  const keys: number[] = []
  for (let key = 0; mask >> key > 0; key += 1) if (has(mask, key)) keys.push(key)
  return keys
}

/** The keys that a thread's live checkpoints refer to. */
export function referencesOf({ checkpoints }: Thread): number {
  return checkpoints.reduce((mask, { keys }) => mask | keys, 0)
}

export function currentVersion(state: State, key: number): number | undefined {
  return state.bucket[key]?.at(-1)
}

export function upload(state: State, key: number): State {
  const version = state.uploads + 1
  return { ...state, uploads: version, bucket: change(state.bucket, key, (versions) => [...versions, version]) }
}

export function changeThread(state: State, index: number, changes: Partial<Thread>): State {
  return { ...state, threads: change(state.threads, index, (thread) => ({ ...thread, ...changes })) }
}

/** A copy of the list with one member changed. */
export function change<T>(list: readonly T[], index: number, to: (member: T) => T): T[] {
  return list.map((member, at) => (at === index ? to(member) : member))
}

/** The lease of a thread, as the protocol's functions take it. */
export function leaseOf(thread: Thread | undefined): { fence: number; owner?: string } | undefined {
  return thread && { fence: thread.fence, ...(thread.owner !== undefined && { owner: String(thread.owner) }) }
}
