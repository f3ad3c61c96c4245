import {
  SandboxCheckpointConflictError,
  SandboxCheckpointDuplicateIdError,
  SandboxCheckpointError,
  SandboxCheckpointInvalidEntryError,
  SandboxCheckpointInvalidIdError,
  SandboxCheckpointNotHeadError,
  SandboxCheckpointParentMismatchError,
  SandboxCheckpointWriterLostError,
} from '../src/checkpoints/errors.ts'
import type {
  SandboxBlobReference,
  SandboxCheckpoint,
  SandboxCheckpointAppendInput,
  SandboxCheckpointDeleteHeadInput,
  SandboxCheckpointDeleteInput,
  SandboxCheckpointForkInput,
  SandboxCheckpointStore,
  SandboxCheckpointStoreOptions,
  SandboxCheckpointWriter,
  SandboxCheckpointWriterLease,
} from '../src/checkpoints/types.ts'
import { MemoryLeases } from './memory-leases.ts'
import { brokenEntryRule, isValidId } from './memory-validation.ts'

/** A check of a write. It throws the contract's error and changes nothing. */
export type Check = () => void

/**
 * The contract as a simple model, for tests. Each write is one synchronous block: its checks in order, then the change.
 * The protected methods are the places at which a subclass can break one rule.
 */
export class MemoryCheckpointStore implements SandboxCheckpointStore {
  protected readonly checkpoints = new Map<string, SandboxCheckpoint>()
  /** Of each thread, the ids from the oldest kept checkpoint to the head. */
  protected readonly chains = new Map<string, string[]>()
  protected readonly answers = new Map<string, unknown>()
  protected readonly leases: MemoryLeases

  constructor(options: SandboxCheckpointStoreOptions, leases = new MemoryLeases(options)) {
    this.leases = leases
  }

  async get(id: string): Promise<SandboxCheckpoint | null> {
    this.checkIds(id)
    const checkpoint = this.checkpoints.get(id)
    return checkpoint === undefined ? null : this.copy(checkpoint)
  }

  async list(threadId: string): Promise<SandboxCheckpoint[]> {
    this.checkIds(threadId)
    return [...this.checkpoints.values()]
      .filter((checkpoint) => checkpoint.threadId === threadId)
      .sort((a, b) => a.createdAt - b.createdAt || this.compareText(a.id, b.id))
      .map((checkpoint) => this.copy(checkpoint))
  }

  async getHead(threadId: string): Promise<string | null> {
    this.checkIds(threadId)
    return this.headOf(threadId)
  }

  async append(input: SandboxCheckpointAppendInput): Promise<{ headId: string }> {
    const checkpoint = this.copy(input.checkpoint)
    return this.write(input.requestToken, this.appendChecks({ ...input, checkpoint }), () => {
      this.publish({ ...checkpoint, parentCheckpointId: checkpoint.parentCheckpointId ?? null })
      return { headId: checkpoint.id }
    })
  }

  async deleteHead(input: SandboxCheckpointDeleteHeadInput): Promise<void> {
    const { threadId, checkpointId, requestToken } = input
    this.write(requestToken, this.deleteHeadChecks(input), () => {
      this.checkpoints.delete(checkpointId)
      this.chain(threadId).pop()
    })
  }

  async forkFromCheckpoint(input: SandboxCheckpointForkInput): Promise<{ checkpoint: SandboxCheckpoint }> {
    return this.write(input.requestToken, this.forkChecks(input), () => {
      const source = this.checkpoints.get(input.sourceCheckpointId)
      if (source === undefined) throw new Error('The checks let a fork without a source pass')
      const checkpoint = this.forkRoot(source, input)
      this.publish(checkpoint)
      return { checkpoint: this.copy(checkpoint) }
    })
  }

  async deleteCheckpoints(input: SandboxCheckpointDeleteInput): Promise<{ deleted: string[] }> {
    return this.write(undefined, this.deleteCheckpointsChecks(input), () => {
      const chain = this.chain(input.threadId)
      const deleted = chain.splice(0, Math.max(0, chain.length - input.keep))
      for (const id of deleted) this.checkpoints.delete(id)
      return { deleted }
    })
  }

  async acquireWriter(threadId: string, options: { ownerToken?: string } = {}): Promise<SandboxCheckpointWriterLease> {
    this.checkIds(threadId)
    const { leases } = this
    const lease = leases.acquire(threadId, options.ownerToken)
    return {
      threadId,
      ownerToken: lease.ownerToken,
      fence: lease.fence,
      get expiresAt() {
        return lease.expiresAt
      },
      renewAfterMs: leases.renewAfterMs,
      headId: this.headOf(threadId),
      renew: async () => ({ expiresAt: leases.renew(lease) }),
      release: async () => leases.release(lease),
    }
  }

  async listBlobReferences(): Promise<SandboxBlobReference[]> {
    const counts = new Map<string, number>()
    for (const checkpoint of this.checkpoints.values()) {
      for (const key of this.blobKeys(checkpoint)) counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    return [...counts].map(([key, references]) => ({ key, references })).sort((a, b) => this.compareText(a.key, b.key))
  }

  /** In the contract's order, as the other lists of checks. */
  protected appendChecks({ checkpoint, expectedHeadId, writer }: SandboxCheckpointAppendInput): Check[] {
    const { id, threadId, parentCheckpointId } = checkpoint
    return [
      () => {
        this.checkIds(threadId, writer.threadId, id)
        if (expectedHeadId !== null) this.checkIds(expectedHeadId)
        if ((parentCheckpointId ?? null) !== null) this.checkIds(parentCheckpointId)
      },
      () => this.checkEntries(checkpoint),
      () => this.checkWriter(threadId, writer),
      () => {
        if (this.isUsed(id, threadId)) throw new SandboxCheckpointDuplicateIdError(`The id ${id} is used`)
      },
      () => {
        if (this.headOf(threadId) !== expectedHeadId) {
          throw new SandboxCheckpointConflictError(`The head is not ${expectedHeadId}`)
        }
      },
      () => {
        if ((parentCheckpointId ?? null) !== expectedHeadId) {
          throw new SandboxCheckpointParentMismatchError(`The parent is not ${expectedHeadId}`)
        }
      },
    ]
  }

  protected deleteHeadChecks({ threadId, checkpointId, writer }: SandboxCheckpointDeleteHeadInput): Check[] {
    return [
      () => this.checkIds(threadId, checkpointId, writer.threadId),
      () => this.checkWriter(threadId, writer),
      () => {
        if (this.headOf(threadId) !== checkpointId) {
          throw new SandboxCheckpointNotHeadError(`${checkpointId} is not the head`)
        }
      },
    ]
  }

  protected deleteCheckpointsChecks({ threadId, keep, writer }: SandboxCheckpointDeleteInput): Check[] {
    return [
      () => this.checkIds(threadId, writer.threadId),
      () => {
        if (!Number.isSafeInteger(keep) || keep < 1) {
          throw new SandboxCheckpointInvalidEntryError('keep must be an integer of at least 1')
        }
      },
      () => this.checkWriter(threadId, writer),
    ]
  }

  protected forkChecks(input: SandboxCheckpointForkInput): Check[] {
    const { sourceThreadId, sourceCheckpointId, destinationThreadId, destinationCheckpointId, createdAt, writer } =
      input
    return [
      () => {
        this.checkIds(sourceThreadId, sourceCheckpointId, destinationThreadId, destinationCheckpointId, writer.threadId)
      },
      () => {
        if (!Number.isFinite(createdAt)) throw new SandboxCheckpointInvalidEntryError('createdAt must be finite')
      },
      () => {
        if (sourceThreadId === destinationThreadId) throw forkError('SOURCE_THREAD_MISMATCH')
      },
      () => {
        if (!this.checkpoints.has(sourceCheckpointId)) throw forkError('SOURCE_NOT_FOUND')
      },
      () => {
        const source = this.checkpoints.get(sourceCheckpointId)
        if (source !== undefined && source.threadId !== sourceThreadId) throw forkError('SOURCE_THREAD_MISMATCH')
      },
      () => this.checkWriter(destinationThreadId, writer),
      () => {
        if (this.headOf(destinationThreadId) !== null || this.isUsed(destinationCheckpointId, destinationThreadId)) {
          throw forkError('DESTINATION_NOT_EMPTY')
        }
      },
    ]
  }

  protected forkRoot(source: SandboxCheckpoint, input: SandboxCheckpointForkInput): SandboxCheckpoint {
    const { files, conversation, artifacts } = source
    return this.copy({
      id: input.destinationCheckpointId,
      threadId: input.destinationThreadId,
      parentCheckpointId: null,
      createdAt: input.createdAt,
      reason: 'fork-root',
      files,
      conversation,
      artifacts,
    })
  }

  protected checkIds(...ids: unknown[]): void {
    if (!ids.every(isValidId)) throw new SandboxCheckpointInvalidIdError('An id is not a non-empty well-formed string')
  }

  protected checkEntries(checkpoint: SandboxCheckpoint): void {
    const broken = brokenEntryRule(checkpoint)
    if (broken !== undefined) throw new SandboxCheckpointInvalidEntryError(broken)
  }

  protected checkWriter(threadId: string, writer: SandboxCheckpointWriter): void {
    if (writer.threadId !== threadId || !this.leases.isCurrent(writer)) {
      throw new SandboxCheckpointWriterLostError(`The writer does not hold the thread ${threadId}`)
    }
  }

  protected isUsed(id: string, _threadId: string): boolean {
    return this.checkpoints.has(id)
  }

  protected headOf(threadId: string): string | null {
    return this.chains.get(threadId)?.at(-1) ?? null
  }

  protected blobKeys({ files, artifacts }: SandboxCheckpoint): Iterable<string> {
    const fileKeys = files.flatMap((entry) => (entry.kind === 'file' ? [entry.blobKey] : []))
    return new Set([...fileKeys, ...artifacts.map((artifact) => artifact.blobKey)])
  }

  protected compareText(a: string, b: string): number {
    return Buffer.compare(Buffer.from(a), Buffer.from(b))
  }

  protected copy<Value>(value: Value): Value {
    return structuredClone(value)
  }

  protected publish(checkpoint: SandboxCheckpoint): void {
    this.checkpoints.set(checkpoint.id, checkpoint)
    this.chain(checkpoint.threadId).push(checkpoint.id)
  }

  protected chain(threadId: string): string[] {
    const known = this.chains.get(threadId)
    if (known !== undefined) return known
    const chain: string[] = []
    this.chains.set(threadId, chain)
    return chain
  }

  private write<Answer>(requestToken: string | undefined, checks: Check[], change: () => Answer): Answer {
    if (requestToken !== undefined && this.answers.has(requestToken)) {
      return this.copy(this.answers.get(requestToken)) as Answer
    }
    for (const check of checks) check()
    const answer = change()
    if (requestToken !== undefined) this.answers.set(requestToken, this.copy(answer))
    return answer
  }
}

function forkError(what: 'SOURCE_NOT_FOUND' | 'SOURCE_THREAD_MISMATCH' | 'DESTINATION_NOT_EMPTY'): Error {
  return new SandboxCheckpointError(`SANDBOX_SNAPSHOT_FORK_${what}`, `The fork is refused: ${what}`)
}

/**
 * A store of the contract that keeps everything in memory: a reference for other stores, and a fake for tests.
 * @throws RangeError when the lease times are not positive, or `renewAfterMs` is not below `leaseDurationMs`.
 */
export function createMemoryCheckpointStore(options: SandboxCheckpointStoreOptions = {}): SandboxCheckpointStore {
  return new MemoryCheckpointStore(options)
}
