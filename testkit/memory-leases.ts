import { SandboxCheckpointWriterConflictError, SandboxCheckpointWriterLostError } from '../src/checkpoints/errors.ts'
import type { SandboxCheckpointStoreOptions, SandboxCheckpointWriter } from '../src/checkpoints/types.ts'

export interface MemoryLease extends SandboxCheckpointWriter {
  expiresAt: number
}

/** The writer leases of the contract as a simple model. */
export class MemoryLeases {
  readonly renewAfterMs: number
  protected readonly leases = new Map<string, MemoryLease>()
  /** Of every thread that was ever leased: fences outlive leases. */
  protected readonly lastFences = new Map<string, number>()
  protected readonly now: () => number
  protected readonly leaseDurationMs: number

  constructor({ now = Date.now, leaseDurationMs = 120_000, renewAfterMs = 45_000 }: SandboxCheckpointStoreOptions) {
    if (!Number.isFinite(leaseDurationMs) || leaseDurationMs <= 0)
      throw new RangeError('leaseDurationMs must be above 0')
    if (!(renewAfterMs > 0 && renewAfterMs < leaseDurationMs)) {
      throw new RangeError('renewAfterMs must be above 0 and below leaseDurationMs')
    }
    this.now = now
    this.leaseDurationMs = leaseDurationMs
    this.renewAfterMs = renewAfterMs
  }

  /** A live lease is given again only to its own token. */
  acquire(threadId: string, ownerToken: string = crypto.randomUUID()): MemoryLease {
    const held = this.leases.get(threadId)
    if (held !== undefined && this.isLive(held)) {
      if (held.ownerToken === ownerToken) return { ...held }
      throw new SandboxCheckpointWriterConflictError(`Another writer holds the thread ${threadId}`)
    }
    const lease = { threadId, ownerToken, fence: this.nextFence(threadId), expiresAt: this.expiry() }
    this.leases.set(threadId, lease)
    return { ...lease }
  }

  isCurrent(writer: SandboxCheckpointWriter): boolean {
    const held = this.leases.get(writer.threadId)
    return held !== undefined && this.isSame(held, writer) && this.isLive(held)
  }

  renew(lease: MemoryLease): number {
    if (!this.isCurrent(lease)) throw new SandboxCheckpointWriterLostError(`The lease of ${lease.threadId} has ended`)
    lease.expiresAt = this.expiry()
    this.leases.set(lease.threadId, { ...lease })
    return lease.expiresAt
  }

  release(writer: SandboxCheckpointWriter): void {
    const held = this.leases.get(writer.threadId)
    if (held !== undefined && this.isSame(held, writer)) this.leases.delete(writer.threadId)
  }

  protected isSame(held: SandboxCheckpointWriter, writer: SandboxCheckpointWriter): boolean {
    return held.ownerToken === writer.ownerToken && held.fence === writer.fence
  }

  protected isLive({ expiresAt }: MemoryLease): boolean {
    return expiresAt > this.now()
  }

  protected expiry(): number {
    return this.now() + this.leaseDurationMs
  }

  protected nextFence(threadId: string): number {
    const fence = (this.lastFences.get(threadId) ?? 0) + 1
    this.lastFences.set(threadId, fence)
    return fence
  }
}
