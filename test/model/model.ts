import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect } from 'vitest'
import type {
  SandboxCheckpoint,
  SandboxCheckpointStore,
  SandboxCheckpointWriter,
  SandboxCheckpointWriterLease,
} from '../../src/checkpoints/types.ts'
import { createMemoryCheckpointStore, type MakeCheckpointStore } from '../../testkit/index.ts'
import {
  type HeadChoice,
  type IdChoice,
  type Operation,
  type Sequence,
  sequences,
  type WriterChoice,
} from './operations.ts'

const leaseDurationMs = 1_000
const renewAfterMs = 250
const invalidId = 'lone \ud800'

/**
 * Runs random sequences of operations on a store and on the in-memory model, and compares what each answers and what
 * readers see after each step.
 * @throws Error with the seed and the smallest failing sequence, when the two differ.
 */
export async function checkpointStoreMatchesModel(
  makeStore: MakeCheckpointStore,
  { runs, seed }: { runs: number; seed: number },
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(sequences, async (sequence) => {
      const comparison = await Comparison.start(makeStore, sequence)
      for (const operation of sequence.operations) await comparison.step(operation)
      await comparison.compareAll()
    }),
    { numRuns: runs, seed },
  )
}

/** The same lease, of the store and of the model. Their tokens differ. */
interface Leases {
  real: SandboxCheckpointWriterLease
  model: SandboxCheckpointWriterLease
}

class Comparison {
  readonly #real: SandboxCheckpointStore
  readonly #model: SandboxCheckpointStore
  readonly #clock: { time: number }
  readonly #sequence: Sequence
  readonly #leases: Leases[] = []
  #steps = 0
  /** Whether the last write changed the store. */
  #accepted = false

  constructor(
    real: SandboxCheckpointStore,
    model: SandboxCheckpointStore,
    clock: { time: number },
    sequence: Sequence,
  ) {
    this.#real = real
    this.#model = model
    this.#clock = clock
    this.#sequence = sequence
  }

  static async start(makeStore: MakeCheckpointStore, sequence: Sequence): Promise<Comparison> {
    const clock = { time: Date.UTC(2026, 0, 2) }
    const options = { now: () => clock.time, leaseDurationMs, renewAfterMs }
    return new Comparison(await makeStore(options), createMemoryCheckpointStore(options), clock, sequence)
  }

  async step(operation: Operation): Promise<void> {
    this.#steps += 1
    this.#accepted = false
    for (const threadId of await this.#apply(operation)) await this.#compareThread(threadId, operation.do)
    // The dearest read, so not after what was refused: had that changed a count, the next accepted write would show it.
    if (this.#accepted) await this.#compareReferences(operation.do)
  }

  async compareAll(): Promise<void> {
    for (const threadId of this.#sequence.threads) await this.#compareThread(threadId, 'the sequence')
    await this.#compareReferences('the sequence')
    for (const id of this.#sequence.ids) await this.#same(async (store) => comparable(await store.get(id)), 'get')
  }

  /** The threads that the operation may have changed. */
  async #apply(operation: Operation): Promise<string[]> {
    switch (operation.do) {
      case 'acquire':
        await this.#acquire(this.#thread(operation.thread), operation.ownerToken)
        return []
      case 'renew':
      case 'release':
        await this.#useLease(operation.lease, operation.do)
        return []
      case 'advance':
        this.#clock.time += [1, renewAfterMs, leaseDurationMs - 1, leaseDurationMs][operation.part] ?? 0
        return []
      case 'append':
        return this.#append(operation)
      case 'deleteHead':
        return this.#deleteHead(operation)
      case 'deleteCheckpoints':
        return this.#deleteCheckpoints(operation)
      case 'fork':
        return this.#fork(operation)
    }
  }

  async #acquire(threadId: string, ownerToken: string | undefined): Promise<void> {
    const options = ownerToken === undefined ? undefined : { ownerToken }
    const taken: SandboxCheckpointWriterLease[] = []
    await this.#same(async (store) => {
      const lease = await store.acquireWriter(threadId, options)
      taken.push(lease)
      const { fence, expiresAt, headId } = lease
      return { threadId: lease.threadId, fence, expiresAt, headId, renewAfterMs: lease.renewAfterMs }
    }, 'acquireWriter')
    const [real, model] = taken
    if (real !== undefined && model !== undefined) this.#leases.push({ real, model })
  }

  async #useLease(number: number, use: 'renew' | 'release'): Promise<void> {
    const leases = this.#lease(number)
    if (leases === undefined) return
    await this.#same(async (store) => (store === this.#real ? leases.real : leases.model)[use](), use)
    expect(leases.real.expiresAt, `expiresAt after ${use}`).toBe(leases.model.expiresAt)
  }

  async #append({ thread, id, expected, parent, writer, content, repeat }: Operation & { do: 'append' }) {
    const threadId = this.#thread(thread)
    const expectedHeadId = await this.#choose(threadId, expected)
    const parentId = await this.#parent(threadId, parent, expectedHeadId)
    const { label, ...fields } = content
    const checkpoint = {
      id: await this.#pick(id),
      threadId,
      reason: 'automatic',
      ...(label !== undefined && { label }),
      ...(parentId !== undefined && { parentCheckpointId: parentId }),
      ...fields,
    } as SandboxCheckpoint
    const input = { checkpoint, expectedHeadId, ...this.#requestToken(repeat) }
    await this.#write(
      (store, writer) => store.append({ ...input, writer }),
      { threadId, choice: writer, repeat },
      'append',
    )
    return [threadId]
  }

  async #deleteHead({ thread, checkpoint, writer, repeat }: Operation & { do: 'deleteHead' }) {
    const threadId = this.#thread(thread)
    const checkpointId = (await this.#choose(threadId, checkpoint)) ?? this.#id(0)
    const input = { threadId, checkpointId, ...this.#requestToken(repeat) }
    await this.#write(
      (store, writer) => store.deleteHead({ ...input, writer }),
      { threadId, choice: writer, repeat },
      'deleteHead',
    )
    return [threadId]
  }

  async #deleteCheckpoints({ thread, keep, writer }: Operation & { do: 'deleteCheckpoints' }) {
    const threadId = this.#thread(thread)
    await this.#write(
      (store, writer) => store.deleteCheckpoints({ threadId, keep, writer }),
      { threadId, choice: writer, repeat: false },
      'deleteCheckpoints',
    )
    return [threadId]
  }

  async #fork(operation: Operation & { do: 'fork' }) {
    const { sourceThread, createdAt, writer, repeat } = operation
    const threadId = this.#thread(operation.destination)
    const sourceCheckpointId = await this.#pick(operation.source)
    const source = sourceCheckpointId === invalidId ? null : await this.#model.get(sourceCheckpointId)
    const sourceThreadId = sourceThread === 'its own' ? (source?.threadId ?? 'nobody') : this.#thread(sourceThread)
    const input = {
      sourceThreadId,
      sourceCheckpointId,
      destinationThreadId: threadId,
      destinationCheckpointId: await this.#pick(operation.id),
      createdAt,
      ...this.#requestToken(repeat),
    }
    await this.#write(
      async (store, writer) => comparable((await store.forkFromCheckpoint({ ...input, writer })).checkpoint),
      { threadId, choice: writer, repeat },
      'fork',
    )
    return [threadId, sourceThreadId]
  }

  async #write(
    write: (store: SandboxCheckpointStore, writer: SandboxCheckpointWriter) => Promise<unknown>,
    { threadId, choice, repeat }: { threadId: string; choice: WriterChoice; repeat: boolean },
    what: string,
  ): Promise<void> {
    if (choice.lease === 'current') await this.#acquire(threadId, undefined)
    const leases = this.#leasesFor(threadId, choice)
    const call = (store: SandboxCheckpointStore) =>
      write(store, spoiled(store === this.#real ? leases?.real : leases?.model, threadId, choice))
    this.#accepted = await this.#same(call, what)
    if (repeat) await this.#same(call, `${what} again with the same request token`)
  }

  async #compareThread(threadId: string, after: string): Promise<void> {
    await this.#same((store) => store.getHead(threadId), `head after ${after}`)
    await this.#same(async (store) => (await store.list(threadId)).map(comparable), `list after ${after}`)
  }

  async #compareReferences(after: string): Promise<void> {
    await this.#same((store) => store.listBlobReferences(), `references after ${after}`)
  }

  /**
   * Fails unless the two stores answer alike, or refuse with the same code. The store under test goes first.
   * @returns whether they answered
   */
  async #same(call: (store: SandboxCheckpointStore) => Promise<unknown>, what: string): Promise<boolean> {
    const real = await outcomeOf(call(this.#real))
    const model = await outcomeOf(call(this.#model))
    // Most are equal: the slower comparison only words the failure, and forgives what is undefined instead of absent.
    if (!isDeepStrictEqual(real, model)) expect(real, `step ${this.#steps}: ${what}`).toEqual(model)
    return 'answer' in model
  }

  #leasesFor(threadId: string, { lease }: WriterChoice): Leases | undefined {
    if (typeof lease === 'number') return this.#lease(lease)
    return this.#leases.findLast(({ model }) => model.threadId === threadId)
  }

  #lease(number: number): Leases | undefined {
    return this.#leases[number % Math.max(1, this.#leases.length)]
  }

  #thread(number: number): string {
    return this.#sequence.threads[number] ?? invalidId
  }

  #id(number: number): string {
    return this.#sequence.ids[number] ?? invalidId
  }

  async #pick({ among, number }: IdChoice): Promise<string> {
    const { ids } = this.#sequence
    if (among === 'all' || ids[number] === undefined) return this.#id(number)
    const used = await Promise.all(ids.map(async (id) => (await this.#model.get(id)) !== null))
    const choice = ids.filter((_, index) => used[index] === (among === 'used'))
    return choice[number % Math.max(1, choice.length)] ?? this.#id(number)
  }

  async #choose(threadId: string, choice: HeadChoice): Promise<string | null> {
    if (choice === 'none') return null
    if (choice !== 'head') return this.#id(choice)
    return threadId === invalidId ? null : this.#model.getHead(threadId)
  }

  async #parent(threadId: string, choice: 'expected' | 'missing' | HeadChoice, expectedHeadId: string | null) {
    if (choice === 'expected') return expectedHeadId
    return choice === 'missing' ? undefined : this.#choose(threadId, choice)
  }

  #requestToken(repeat: boolean): { requestToken?: string } {
    return repeat ? { requestToken: `request-${this.#steps}` } : {}
  }
}

function spoiled(
  lease: SandboxCheckpointWriter | undefined,
  threadId: string,
  { wrong }: WriterChoice,
): SandboxCheckpointWriter {
  const { ownerToken, fence, ...held } = lease ?? { threadId, ownerToken: 'nobody', fence: 1 }
  return {
    threadId: wrong === 'thread' ? 'another thread' : held.threadId,
    ownerToken: wrong === 'token' ? 'nobody' : ownerToken,
    fence: wrong === 'fence' ? fence - 1 : fence,
  }
}

/** Zero is the same time with either sign. */
function comparable(checkpoint: SandboxCheckpoint | null): SandboxCheckpoint | null {
  return checkpoint && { ...checkpoint, createdAt: checkpoint.createdAt + 0 }
}

async function outcomeOf(call: Promise<unknown>): Promise<{ answer: unknown } | { refused: unknown }> {
  try {
    return { answer: await call }
  } catch (error) {
    return { refused: error instanceof Error && 'code' in error ? error.code : String(error) }
  }
}
