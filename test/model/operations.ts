import { createHash } from 'node:crypto'
import fc from 'fast-check'
import type { SandboxSnapshotArtifact, SandboxSnapshotEntry } from '../../src/checkpoints/types.ts'

/**
 * What one step does. Threads, ids and leases stand as numbers, and heads as words, so that a sequence stays meaningful
 * when a failing one is made smaller. A number outside of its list is an id that no store accepts.
 */
export type Operation =
  | { do: 'acquire'; thread: number; ownerToken: string | undefined }
  | { do: 'renew' | 'release'; lease: number }
  | { do: 'advance'; part: number }
  | {
      do: 'append'
      thread: number
      id: IdChoice
      expected: HeadChoice
      parent: 'expected' | 'missing' | HeadChoice
      writer: WriterChoice
      content: Content
      repeat: boolean
    }
  | { do: 'deleteHead'; thread: number; checkpoint: HeadChoice; writer: WriterChoice; repeat: boolean }
  | { do: 'deleteCheckpoints'; thread: number; keep: number; writer: WriterChoice }
  | {
      do: 'fork'
      source: IdChoice
      sourceThread: 'its own' | number
      destination: number
      id: IdChoice
      createdAt: number
      writer: WriterChoice
      repeat: boolean
    }

/** The thread's head, nothing, or the id of this number. */
export type HeadChoice = 'head' | 'none' | number

/** An id that is used or that is not (the one of this number among them, where there is one), or just any. */
export interface IdChoice {
  among: 'used' | 'unused' | 'all'
  number: number
}

/**
 * The current lease of the thread of the write, taken first where nobody has it; or the thread's newest, current or not;
 * or the lease of this number. And what is wrong with it.
 */
export interface WriterChoice {
  lease: 'current' | 'newest' | number
  wrong: 'nothing' | 'fence' | 'token' | 'thread'
}

export interface Content {
  createdAt: number
  label: string | undefined
  files: SandboxSnapshotEntry[]
  artifacts: SandboxSnapshotArtifact[]
  conversation: unknown[]
}

export interface Sequence {
  threads: string[]
  ids: string[]
  operations: Operation[]
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }),
  fc.constantFrom('～', '😀', '__proto__', 'a#b', 'a/b', 'a%2Fb', ' ', 'é', 'e\u0301'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }).map((tail) => 'long'.repeat(700) + tail),
)
const threadCount = 5
const idCount = 10

// Most of it happens on two threads, or chains would stay short.
const thread = fc.oneof(
  { weight: 14, arbitrary: fc.constant(0) },
  { weight: 6, arbitrary: fc.constant(1) },
  { weight: 6, arbitrary: fc.nat(threadCount - 1) },
  { weight: 1, arbitrary: fc.constant(threadCount) },
)
const id = rarely(idCount, fc.nat(idCount - 1))
const usedId = idChoice('used')
const unusedId = idChoice('unused')
const lease = fc.nat(20)
const headChoice: fc.Arbitrary<HeadChoice> = fc.oneof(
  { weight: 8, arbitrary: fc.constant('head' as const) },
  { weight: 1, arbitrary: fc.constant('none' as const) },
  { weight: 1, arbitrary: id },
)
const writer: fc.Arbitrary<WriterChoice> = fc.record({
  lease: fc.oneof(
    { weight: 12, arbitrary: fc.constant('current' as const) },
    { weight: 2, arbitrary: fc.constant('newest' as const) },
    { weight: 1, arbitrary: lease },
  ),
  wrong: fc.oneof(
    { weight: 20, arbitrary: fc.constant('nothing' as const) },
    { weight: 1, arbitrary: fc.constantFrom('fence' as const, 'token' as const, 'thread' as const) },
  ),
})
const createdAt = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom(0, -0, 1, 2, 10, 0.5, -1, 1e300, 1_767_323_045_678) },
  { weight: 3, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  { weight: 1, arbitrary: fc.constant(Number.NaN) },
)
const path = fc.constantFrom('a', 'b', 'c/d', 'c/e/f', 'lone \ud800')
const conflictingPath = fc.constantFrom('a', 'a/b', 'a/b/c')
const entry: fc.Arbitrary<SandboxSnapshotEntry> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ path, n: fc.nat(3) }).map(({ path, n }) => fileEntry(path, n)) },
  { weight: 1, arbitrary: path.map((path) => ({ path, kind: 'dir' as const })) },
  { weight: 1, arbitrary: path.map((path) => ({ path, kind: 'symlink' as const, target: '../x' })) },
)
const artifact = fc.nat(2).map((n) => ({
  artifactId: `artifact-${n}`,
  name: 'name',
  mimeType: 'text/plain',
  size: n,
  blobKey: `sandbox-artifacts/sha256/${n.toString().repeat(64)}`,
  createdAt: n,
}))
const conversation: fc.Arbitrary<unknown[]> = fc.oneof(
  { weight: 20, arbitrary: fc.array<unknown>(fc.jsonValue({ maxDepth: 2 }), { maxLength: 2 }) },
  { weight: 2, arbitrary: fc.constant<unknown[]>(['\ud800 alone', { '\udfff': [] }]) },
  { weight: 2, arbitrary: fc.nat().map((seed): unknown[] => [incompressible(seed)]) },
)
const content: fc.Arbitrary<Content> = fc.record({
  createdAt,
  label: fc.option(fc.constantFrom('', 'label', '\udc00'), { nil: undefined }),
  files: fc.oneof(
    { weight: 12, arbitrary: fc.uniqueArray(entry, { maxLength: 3, selector: ({ path }) => path }) },
    {
      weight: 1,
      arbitrary: fc.array(
        conflictingPath.map((path) => fileEntry(path, 1)),
        { maxLength: 2 },
      ),
    },
  ),
  artifacts: fc.array(artifact, { maxLength: 2 }),
  conversation,
})
const repeat = rarely(true, fc.constant(false))

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('acquire' as const),
      thread,
      ownerToken: fc.oneof(
        { weight: 3, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constantFrom('owner 1', 'owner 2') },
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('renew' as const, 'release' as const), lease }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('advance' as const), part: fc.nat(3) }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      thread,
      id: unusedId,
      expected: headChoice,
      parent: fc.oneof(
        { weight: 10, arbitrary: fc.constant('expected' as const) },
        { weight: 1, arbitrary: fc.constant('missing' as const) },
        { weight: 1, arbitrary: headChoice },
      ),
      writer,
      content,
      repeat,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('deleteHead' as const),
      thread,
      checkpoint: headChoice,
      writer,
      repeat,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('deleteCheckpoints' as const),
      thread,
      keep: fc.constantFrom(1, 1, 1, 2, 2, 3, 0),
      writer,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('fork' as const),
      source: usedId,
      sourceThread: fc.oneof(
        { weight: 6, arbitrary: fc.constant('its own' as const) },
        { weight: 1, arbitrary: thread },
      ),
      destination: rarely(0, fc.nat(threadCount - 1)),
      id: unusedId,
      createdAt,
      writer,
      repeat,
    }),
  },
)

/** Random sequences over a few random threads and ids, so that they meet. */
export const sequences: fc.Arbitrary<Sequence> = fc.record({
  threads: fc.uniqueArray(anyText, { minLength: threadCount, maxLength: threadCount }),
  ids: fc.uniqueArray(anyText, { minLength: idCount, maxLength: idCount }),
  operations: fc.array(operation, { minLength: 1, maxLength: 20, size: 'max' }),
})

function rarely<Value>(rare: Value, often: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 25, arbitrary: often }, { weight: 1, arbitrary: fc.constant(rare) })
}

function idChoice(mostly: 'used' | 'unused'): fc.Arbitrary<IdChoice> {
  return fc.record({
    among: fc.oneof(
      { weight: 9, arbitrary: fc.constant(mostly) },
      { weight: 1, arbitrary: fc.constant('all' as const) },
    ),
    number: id,
  })
}

function fileEntry(path: string, n: number): SandboxSnapshotEntry {
  const entry = { path, kind: 'file' as const, blobKey: `sandbox-files/sha256/${n.toString().repeat(64)}`, size: n }
  return n === 3 ? { ...entry, mode: 0o755 } : entry
}

/** Too large to be kept beside the head, compressed or not. */
function incompressible(seed: number): string {
  return createHash('shake256', { outputLength: 8_000 }).update(String(seed)).digest('base64')
}
