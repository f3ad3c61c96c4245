import { SandboxCheckpointWriterLostError } from '../../../src/checkpoints/errors.ts'
import type { SandboxCheckpointWriter, SandboxCheckpointWriterLease } from '../../../src/checkpoints/types.ts'
import { MemoryCheckpointStore } from '../../../testkit/memory-checkpoint-store.ts'
import { type MemoryLease, MemoryLeases } from '../../../testkit/memory-leases.ts'
import { type Fault, leaseFault, storeFault } from './fault.ts'

export const leaseFaults: Fault[] = [
  leaseFault(
    'a lease is still current at exactly expiresAt',
    class extends MemoryLeases {
      override isCurrent(writer: SandboxCheckpointWriter): boolean {
        const held = this.leases.get(writer.threadId)
        return held !== undefined && this.isSame(held, writer) && held.expiresAt >= this.now()
      }
    },
  ),
  leaseFault(
    'at exactly expiresAt no other lease is given',
    class extends MemoryLeases {
      #acquiring = false
      override acquire(threadId: string, ownerToken?: string): MemoryLease {
        this.#acquiring = true
        try {
          return super.acquire(threadId, ownerToken)
        } finally {
          this.#acquiring = false
        }
      }
      protected override isLive(lease: MemoryLease): boolean {
        return super.isLive(lease) || (this.#acquiring && lease.expiresAt === this.now())
      }
    },
  ),
  leaseFault(
    'leases never expire',
    class extends MemoryLeases {
      protected override isLive(): boolean {
        return true
      }
    },
  ),
  leaseFault(
    'the owner token is not compared',
    class extends MemoryLeases {
      protected override isSame(held: SandboxCheckpointWriter, writer: SandboxCheckpointWriter): boolean {
        return held.fence === writer.fence
      }
    },
  ),
  leaseFault(
    'the fence is not compared',
    class extends MemoryLeases {
      protected override isSame(held: SandboxCheckpointWriter, writer: SandboxCheckpointWriter): boolean {
        return held.ownerToken === writer.ownerToken
      }
    },
  ),
  leaseFault(
    'a higher fence passes',
    class extends MemoryLeases {
      protected override isSame(held: SandboxCheckpointWriter, writer: SandboxCheckpointWriter): boolean {
        return held.ownerToken === writer.ownerToken && writer.fence >= held.fence
      }
    },
  ),
  leaseFault(
    'the fence is compared as text',
    class extends MemoryLeases {
      protected override isSame(held: SandboxCheckpointWriter, writer: SandboxCheckpointWriter): boolean {
        return held.ownerToken === writer.ownerToken && String(held.fence) === String(writer.fence)
      }
    },
  ),
  leaseFault(
    'fences start again after a release',
    class extends MemoryLeases {
      override release(writer: SandboxCheckpointWriter): void {
        super.release(writer)
        if (!this.leases.has(writer.threadId)) this.lastFences.delete(writer.threadId)
      }
    },
  ),
  leaseFault(
    'fences start again long after expiry',
    class extends MemoryLeases {
      protected override nextFence(threadId: string): number {
        const last = this.leases.get(threadId)
        if (last !== undefined && last.expiresAt < this.now() - 10 * this.leaseDurationMs)
          this.lastFences.delete(threadId)
        return super.nextFence(threadId)
      }
    },
  ),
  leaseFault(
    'fences are counted over all threads',
    class extends MemoryLeases {
      protected override nextFence(): number {
        return super.nextFence('any')
      }
    },
  ),
  leaseFault(
    'the owner token is always the same',
    class extends MemoryLeases {
      override acquire(threadId: string): MemoryLease {
        this.checkFree(threadId)
        return super.acquire(threadId, 'owner')
      }
      private checkFree(threadId: string): void {
        const held = this.leases.get(threadId)
        if (held !== undefined && this.isLive(held)) super.acquire(threadId, 'another owner')
      }
    },
  ),
  leaseFault(
    'a live lease is taken over',
    class extends MemoryLeases {
      override acquire(threadId: string, ownerToken?: string): MemoryLease {
        this.leases.delete(threadId)
        return super.acquire(threadId, ownerToken)
      }
    },
  ),
  leaseFault(
    'one lease for all threads',
    class extends MemoryLeases {
      override acquire(threadId: string, ownerToken?: string): MemoryLease {
        for (const held of this.leases.values()) if (this.isLive(held)) super.acquire(held.threadId)
        return super.acquire(threadId, ownerToken)
      }
    },
  ),
  leaseFault(
    'the lease time is not the one of the options',
    class extends MemoryLeases {
      protected override expiry(): number {
        return this.now() + 120_000
      }
    },
  ),
  leaseFault(
    'renew counts from the old end',
    class extends MemoryLeases {
      override renew(lease: MemoryLease): number {
        const end = lease.expiresAt
        super.renew(lease)
        lease.expiresAt = end + this.leaseDurationMs
        this.leases.set(lease.threadId, { ...lease })
        return lease.expiresAt
      }
    },
  ),
  leaseFault(
    'renew does not reach the store',
    class extends MemoryLeases {
      override renew(lease: MemoryLease): number {
        if (!this.isCurrent(lease)) throw new SandboxCheckpointWriterLostError('lost')
        lease.expiresAt = this.expiry()
        return lease.expiresAt
      }
    },
  ),
  leaseFault(
    'renew works after expiry while there is no successor',
    class extends MemoryLeases {
      override renew(lease: MemoryLease): number {
        const held = this.leases.get(lease.threadId)
        if (held !== undefined && this.isSame(held, lease)) held.expiresAt = this.expiry()
        return super.renew(lease)
      }
    },
  ),
  leaseFault(
    'renew works after release',
    class extends MemoryLeases {
      override renew(lease: MemoryLease): number {
        if (!this.leases.has(lease.threadId)) this.leases.set(lease.threadId, { ...lease, expiresAt: this.expiry() })
        return super.renew(lease)
      }
    },
  ),
  leaseFault(
    'renew changes the fence',
    class extends MemoryLeases {
      override renew(lease: MemoryLease): number {
        const expiresAt = super.renew(lease)
        const held = this.leases.get(lease.threadId)
        if (held !== undefined) held.fence = this.nextFence(lease.threadId)
        return expiresAt
      }
    },
  ),
  leaseFault(
    'release ends nothing',
    class extends MemoryLeases {
      override release(): void {
        // Nothing.
      }
    },
  ),
  leaseFault(
    "a stale release ends the successor's lease",
    class extends MemoryLeases {
      override release(writer: SandboxCheckpointWriter): void {
        this.leases.delete(writer.threadId)
      }
    },
  ),
  leaseFault(
    'a second release throws',
    class extends MemoryLeases {
      override release(writer: SandboxCheckpointWriter): void {
        if (!this.leases.has(writer.threadId)) throw new SandboxCheckpointWriterLostError('lost')
        super.release(writer)
      }
    },
  ),
  leaseFault(
    'release after expiry throws',
    class extends MemoryLeases {
      override release(writer: SandboxCheckpointWriter): void {
        const held = this.leases.get(writer.threadId)
        if (held !== undefined && !this.isLive(held)) throw new SandboxCheckpointWriterLostError('lost')
        super.release(writer)
      }
    },
  ),
  storeFault(
    'expiresAt of the lease is not live',
    class extends MemoryCheckpointStore {
      override async acquireWriter(threadId: string): Promise<SandboxCheckpointWriterLease> {
        return { ...(await super.acquireWriter(threadId)) }
      }
    },
  ),
  storeFault(
    'renewAfterMs is not the one of the options',
    class extends MemoryCheckpointStore {
      override async acquireWriter(threadId: string): Promise<SandboxCheckpointWriterLease> {
        return Object.assign(await super.acquireWriter(threadId), { renewAfterMs: 45_000 })
      }
    },
  ),
  storeFault(
    'the lease does not tell the head',
    class extends MemoryCheckpointStore {
      override async acquireWriter(threadId: string): Promise<SandboxCheckpointWriterLease> {
        return Object.assign(await super.acquireWriter(threadId), { headId: null })
      }
    },
  ),
]
