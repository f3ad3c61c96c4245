import type {
  SandboxBlobReference,
  SandboxCheckpoint,
  SandboxCheckpointDeleteHeadInput,
  SandboxCheckpointDeleteInput,
} from '../../../src/checkpoints/types.ts'
import { MemoryCheckpointStore } from '../../../testkit/memory-checkpoint-store.ts'
import { type Fault, storeFault } from './fault.ts'

function pruneFault(
  name: string,
  change: (answer: { deleted: string[] }, input: SandboxCheckpointDeleteInput, before: SandboxCheckpoint[]) => object,
): Fault {
  return storeFault(
    name,
    class extends MemoryCheckpointStore {
      override async deleteCheckpoints(input: SandboxCheckpointDeleteInput): Promise<{ deleted: string[] }> {
        const before = [...this.checkpoints.values()]
        const answer = await super.deleteCheckpoints(input)
        return change(answer, input, before) as { deleted: string[] }
      }
    },
  )
}

function keepFault(name: string, change: (keep: number) => number): Fault {
  return storeFault(
    name,
    class extends MemoryCheckpointStore {
      override async deleteCheckpoints(input: SandboxCheckpointDeleteInput): Promise<{ deleted: string[] }> {
        return super.deleteCheckpoints({ ...input, keep: change(input.keep) })
      }
    },
  )
}

export const pruneFaults: Fault[] = [
  keepFault('keep does not count the head', (keep) => (Number.isSafeInteger(keep) ? keep + 1 : keep)),
  keepFault('keep 0 is taken for 1', (keep) => (keep === 0 ? 1 : keep)),
  keepFault('a fraction of keep is dropped', (keep) => (Number.isFinite(keep) ? Math.trunc(keep) : keep)),
  keepFault('keep may be infinite', (keep) => (keep === Number.POSITIVE_INFINITY ? 9 : keep)),
  keepFault('keep may be text', (keep) => Number(keep ?? undefined)),
  keepFault('a missing keep is taken for 1', (keep) => keep ?? 1),
  pruneFault('deleted is newest first', ({ deleted }) => ({ deleted: deleted.toReversed() })),
  pruneFault('deleted is a number', ({ deleted }) => ({ deleted: deleted.length })),
  pruneFault('deleted holds checkpoints', ({ deleted }, _, before) => ({
    deleted: before.filter(({ id }) => deleted.includes(id)),
  })),
  pruneFault('deleted is by createdAt', ({ deleted }, _, before) => ({
    deleted: before
      .filter(({ id }) => deleted.includes(id))
      .sort((a, b) => a.createdAt - b.createdAt)
      .map(({ id }) => id),
  })),
  storeFault(
    'the newest are those of the list',
    class extends MemoryCheckpointStore {
      override async deleteCheckpoints(input: SandboxCheckpointDeleteInput): Promise<{ deleted: string[] }> {
        const known = this.chains.get(input.threadId)
        if (known !== undefined)
          this.chains.set(
            input.threadId,
            (await this.list(input.threadId)).map(({ id }) => id),
          )
        return super.deleteCheckpoints(input)
      }
    },
  ),
  storeFault(
    'the parent of the oldest kept is cleared',
    class extends MemoryCheckpointStore {
      override async deleteCheckpoints(input: SandboxCheckpointDeleteInput): Promise<{ deleted: string[] }> {
        const answer = await super.deleteCheckpoints(input)
        const oldest = this.checkpoints.get(this.chain(input.threadId)[0] ?? '')
        if (oldest !== undefined) oldest.parentCheckpointId = null
        return answer
      }
    },
  ),
  storeFault(
    'the head moves to a parent that was pruned',
    class extends MemoryCheckpointStore {
      override async deleteHead(input: SandboxCheckpointDeleteHeadInput): Promise<void> {
        const parent = this.checkpoints.get(input.checkpointId)?.parentCheckpointId
        await super.deleteHead(input)
        if (typeof parent === 'string') this.chains.set(input.threadId, [...this.chain(input.threadId), parent])
      }
    },
  ),
  storeFault(
    'the head moves to whatever has the id of the parent now',
    class extends MemoryCheckpointStore {
      override async deleteHead(input: SandboxCheckpointDeleteHeadInput): Promise<void> {
        const parent = this.checkpoints.get(input.checkpointId)?.parentCheckpointId
        await super.deleteHead(input)
        const chain = this.chain(input.threadId)
        if (typeof parent === 'string' && chain.length === 0 && this.checkpoints.has(parent)) chain.push(parent)
      }
    },
  ),
  storeFault(
    'pruned checkpoints are still counted',
    class extends MemoryCheckpointStore {
      readonly #pruned: SandboxCheckpoint[] = []
      override async deleteCheckpoints(input: SandboxCheckpointDeleteInput): Promise<{ deleted: string[] }> {
        const before = [...this.checkpoints.values()]
        const answer = await super.deleteCheckpoints(input)
        this.#pruned.push(...before.filter(({ id }) => answer.deleted.includes(id)))
        return answer
      }
      override async listBlobReferences(): Promise<SandboxBlobReference[]> {
        for (const checkpoint of this.#pruned) this.checkpoints.set(`pruned ${checkpoint.id}`, checkpoint)
        const references = await super.listBlobReferences()
        for (const checkpoint of this.#pruned) this.checkpoints.delete(`pruned ${checkpoint.id}`)
        return references
      }
    },
  ),
  storeFault(
    'pruned checkpoints can still be read',
    class extends MemoryCheckpointStore {
      readonly #pruned = new Map<string, SandboxCheckpoint>()
      override async deleteCheckpoints(input: SandboxCheckpointDeleteInput): Promise<{ deleted: string[] }> {
        const before = [...this.checkpoints.values()]
        const answer = await super.deleteCheckpoints(input)
        for (const each of before) if (answer.deleted.includes(each.id)) this.#pruned.set(each.id, each)
        return answer
      }
      override async get(id: string): Promise<SandboxCheckpoint | null> {
        return (await super.get(id)) ?? this.#pruned.get(id) ?? null
      }
    },
  ),
  storeFault(
    'pruned ids stay used',
    class extends MemoryCheckpointStore {
      readonly #pruned = new Set<string>()
      override async deleteCheckpoints(input: SandboxCheckpointDeleteInput): Promise<{ deleted: string[] }> {
        const answer = await super.deleteCheckpoints(input)
        for (const id of answer.deleted) this.#pruned.add(id)
        return answer
      }
      protected override isUsed(id: string, threadId: string): boolean {
        return super.isUsed(id, threadId) || this.#pruned.has(id)
      }
    },
  ),
  storeFault(
    'the prune deletes from every thread',
    class extends MemoryCheckpointStore {
      override async deleteCheckpoints(input: SandboxCheckpointDeleteInput): Promise<{ deleted: string[] }> {
        const answer = await super.deleteCheckpoints(input)
        if (answer.deleted.length === 0) return answer
        for (const [threadId, chain] of this.chains) {
          if (threadId !== input.threadId) for (const id of chain.splice(0)) this.checkpoints.delete(id)
        }
        return answer
      }
    },
  ),
]
