import { randomUUID } from 'node:crypto'
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb'
import { checkpointKey, idKey, threadKey } from '../table/keys.ts'
import { type Item, NEW_ITEM, type TransactAction } from '../table/table.ts'
import { CONTENDED_ATTEMPTS, retryTransient, TransientError } from '../table/transient.ts'
import { hashBytes, hashText } from '../text.ts'
import type { EncodedCheckpoint } from './codec.ts'
import type { StoreContext } from './context.ts'
import {
  type CheckpointName,
  checkpointAttributes,
  checkpointName,
  type IdRecord,
  idAttributes,
  readId,
  sameIdItem,
  type ThreadState,
} from './items.ts'
import { getThread } from './read.ts'
import { changed, refusedByOwnWrite, type ThreadChange, threadUpdate, writeToken } from './thread-write.ts'
import type { SandboxCheckpointWriter } from './types.ts'
import { isCurrent, lost } from './writer.ts'

/**
 * A body of at most so many bytes, keys and compressed JSON together, is kept in the item: with it a commit costs at
 * most 16 write units, however long the names are. A larger one is cheaper in S3.
 */
const INLINE_BODY_BYTES = 4_000

/** A checkpoint on its way to be the head of a thread, and what refuses it. */
export interface CommitPlan {
  id: string
  threadId: string
  encoded: EncodedCheckpoint
  writer: SandboxCheckpointWriter
  /** The object that the caller gave as the writer. */
  lease: SandboxCheckpointWriter
  /** Names this write: a repeat of it finds that it has landed. Default: a fresh one. */
  token: string | undefined
  /** The refusal by the thread's head, if it is not the expected one. */
  checkHead: (state: ThreadState) => Error | undefined
  /** The refusal when the id is used, which comes before that of the head. */
  idUsed: () => Error
  /** The thread's hash, for threads that no thread id leads to. Default: that of `threadId`. */
  threadHash?: string
  /** The commit ends the lease. */
  release?: boolean
  /** What else is of the transaction. */
  guards?: CommitGuards
}

/** Further actions of a commit's transaction: conditions on other items, or writes to them. */
export interface CommitGuards {
  /** Asked anew for each attempt. */
  actions: () => TransactAction[]
  /**
   * The refusal when a condition of theirs failed, with what refused each. A TransientError has the commit begin anew.
   */
  refused: (refused: ReadonlyArray<{ item: Item | undefined } | undefined>) => Error
}

/**
 * Adds a checkpoint and makes it the head, as one compare-and-swap of a constant number of actions: the thread (lease
 * current, nothing written since it was read), the checkpoint, the id.
 * @throws SandboxCheckpointWriterLostError, then what the plan says
 */
export async function commit(context: StoreContext, plan: CommitPlan): Promise<void> {
  await new Committing(context, plan).run()
}

class Committing {
  readonly #context: StoreContext
  readonly #plan: CommitPlan
  readonly #token: string
  readonly #threadHash: string
  readonly #idHash: string
  /** The object of a large body, once it may be there. */
  #bodyName: string | undefined
  #bodyIsPut = false
  /** An id item whose checkpoint is deleted: it may be replaced. */
  #deadId: IdRecord | undefined
  /** A transaction was sent whose outcome is not known. */
  #uncertain = false

  constructor(context: StoreContext, plan: CommitPlan) {
    this.#context = context
    this.#plan = plan
    this.#threadHash = plan.threadHash ?? hashText(plan.threadId)
    this.#idHash = hashText(plan.id)
    const content = hashBytes(plan.encoded.keys, plan.encoded.body)
    this.#token = writeToken(plan.token, { operation: 'add', threadHash: this.#threadHash, content })
  }

  async run(): Promise<void> {
    try {
      // Items beside the thread may be of many writers.
      const attempts = this.#plan.guards && CONTENDED_ATTEMPTS
      await retryTransient(() => this.#attempt(), attempts)
    } catch (error) {
      await this.#discardBody()
      throw error
    }
  }

  async #attempt(): Promise<void> {
    const seen = this.#takeSeen()
    if (seen) return this.#write(seen, this.#context.now())
    const state = await getThread(this.#context, this.#threadHash)
    if (state?.lastWrite === this.#token) return
    const now = this.#context.now()
    const { writer, checkHead } = this.#plan
    if (!state || !isCurrent(state, writer, now)) {
      if (state && (await this.#readId())?.token === this.#token) return
      throw lost()
    }
    const headRefusal = checkHead(state)
    if (headRefusal) {
      const id = await this.#readId()
      if (id && (await this.#landed(id))) return
      throw headRefusal
    }
    await this.#write(state, now)
  }

  async #readId(): Promise<IdRecord | undefined> {
    const { table, scope } = this.#context
    const item = await table.get(idKey(scope, this.#idHash))
    return item && readId(item)
  }

  /** What the lease last saw, unless it would refuse the write: only a fresh read may. */
  #takeSeen(): ThreadState | undefined {
    const { lease, writer, checkHead } = this.#plan
    const { seen, now } = this.#context
    const { threadHash, state } = seen.get(lease) ?? {}
    seen.delete(lease)
    if (!state || threadHash !== this.#threadHash) return undefined
    return isCurrent(state, writer, now()) && !checkHead(state) ? state : undefined
  }

  /** Whether the id's checkpoint is the one of this write. @throws the plan's refusal when it is another's. */
  async #landed(record: IdRecord): Promise<boolean> {
    if (record.token === this.#token) return true
    const state = await getThread(this.#context, record.threadHash)
    if (state && record.sequence >= state.mark) throw this.#plan.idUsed()
    this.#deadId = record
    return false
  }

  async #putBody(): Promise<void> {
    const { encoded } = this.#plan
    if (this.#bodyIsPut || encoded.keys.length + encoded.body.length <= INLINE_BODY_BYTES) return
    // One name for all attempts: a put whose answer is lost leaves no second object.
    this.#bodyName ??= randomUUID()
    await this.#context.bodies.put(this.#threadHash, this.#bodyName, encoded)
    this.#bodyIsPut = true
  }

  async #write(state: ThreadState, now: number): Promise<void> {
    await this.#putBody()
    const sequence = state.sequence + 1
    const head = checkpointName(sequence, this.#idHash, this.#plan.id)
    const change = { head, sequence, mark: state.mark, live: state.live + 1, token: this.#token }
    const actions = [...this.#actions(state, change, now), ...(this.#plan.guards?.actions() ?? [])]
    const result = await this.#context.table.transact(actions, randomUUID()).catch((error: unknown) => {
      const cancelled = error instanceof TransientError || error instanceof TransactionCanceledException
      if (!cancelled) this.#uncertain = true
      throw error
    })
    if (result.done) {
      this.#context.seen.set(this.#plan.lease, { threadHash: this.#threadHash, state: changed(state, change) })
      return
    }
    const [thread, , id, ...guards] = result.refused
    const idRecord = id?.item && readId(id.item)
    if (idRecord?.token === this.#token) return
    if (thread && refusedByOwnWrite(thread.item, { token: this.#token, writer: this.#plan.writer, now })) return
    // An id that was to be replaced may be cleared away by now.
    this.#deadId = undefined
    if (idRecord && (await this.#landed(idRecord))) return
    if (!thread && this.#plan.guards && guards.some((refused) => refused !== undefined))
      throw this.#plan.guards.refused(guards)
    throw new TransientError('The thread was written to at the same time.')
  }

  #actions(state: ThreadState, change: ThreadChange & { head: CheckpointName }, now: number): TransactAction[] {
    const { table, scope } = this.#context
    const { encoded, writer, release } = this.#plan
    const { head, sequence } = change
    const checkpoint = checkpointAttributes(head, state.head, encoded, this.#bodyName)
    return [
      table.transactUpdate(threadKey(scope, this.#threadHash), threadUpdate(state, change, writer, now, release)),
      table.transactPut({ ...checkpointKey(scope, this.#threadHash, sequence), ...checkpoint }, NEW_ITEM),
      table.transactPut(
        { ...idKey(scope, this.#idHash), ...idAttributes(this.#threadHash, sequence, this.#token) },
        this.#deadId ? sameIdItem(this.#deadId) : NEW_ITEM,
      ),
    ]
  }

  /**
   * Removes a body that no longer can become a checkpoint's. One whose fate is unknown stays, and so does one that
   * fails to go: the sweep finds both.
   */
  async #discardBody(): Promise<void> {
    if (this.#bodyName === undefined || this.#uncertain) return
    await this.#context.bodies.delete(this.#threadHash, this.#bodyName).catch(() => undefined)
  }
}
