import { SandboxCheckpointConflictError } from '../../../src/checkpoints/errors.ts'
import type {
  SandboxCheckpoint,
  SandboxCheckpointAppendInput,
  SandboxCheckpointDeleteHeadInput,
  SandboxCheckpointWriter,
} from '../../../src/checkpoints/types.ts'
import { type Check, MemoryCheckpointStore } from '../../../testkit/memory-checkpoint-store.ts'
import { type Fault, storeFault } from './fault.ts'

export const storeFaults: Fault[] = [
  storeFault(
    'an id may be used once in each thread',
    class extends MemoryCheckpointStore {
      protected override isUsed(id: string, threadId: string): boolean {
        return this.checkpoints.get(id)?.threadId === threadId
      }
    },
  ),
  storeFault(
    'a deleted id stays used',
    class extends MemoryCheckpointStore {
      readonly #used = new Set<string>()
      protected override publish(checkpoint: SandboxCheckpoint): void {
        super.publish(checkpoint)
        this.#used.add(checkpoint.id)
      }
      protected override isUsed(id: string): boolean {
        return this.#used.has(id)
      }
    },
  ),
  storeFault(
    'an append that is refused for its parent is kept',
    class extends MemoryCheckpointStore {
      protected override appendChecks(input: SandboxCheckpointAppendInput): Check[] {
        const checks = super.appendChecks(input)
        return [
          ...checks.slice(0, 5),
          () => this.checkpoints.set(input.checkpoint.id, input.checkpoint),
          ...checks.slice(5),
        ]
      }
    },
  ),
  storeFault(
    'a stale head is found only on threads with a head',
    class extends MemoryCheckpointStore {
      protected override appendChecks(input: SandboxCheckpointAppendInput): Check[] {
        const isEmpty = this.headOf(input.checkpoint.threadId) === null
        return super.appendChecks(isEmpty ? { ...input, expectedHeadId: null } : input)
      }
    },
  ),
  storeFault(
    'a wrong parent is taken for a stale head',
    class extends MemoryCheckpointStore {
      protected override appendChecks(input: SandboxCheckpointAppendInput): Check[] {
        return [
          ...super.appendChecks(input).slice(0, 5),
          () => {
            if ((input.checkpoint.parentCheckpointId ?? null) !== input.expectedHeadId) {
              throw new SandboxCheckpointConflictError('wrong parent')
            }
          },
        ]
      }
    },
  ),
  storeFault(
    'the thread of the writer is compared before the entries are checked',
    class extends MemoryCheckpointStore {
      protected override appendChecks(input: SandboxCheckpointAppendInput): Check[] {
        const [ids, entries, writer, ...rest] = super.appendChecks(input)
        const mismatch = input.writer.threadId !== input.checkpoint.threadId
        return [ids, ...(mismatch ? [writer, entries] : [entries, writer]), ...rest].filter(
          (check) => check !== undefined,
        )
      }
    },
  ),
  storeFault(
    'any error is a plain Error',
    class extends MemoryCheckpointStore {
      protected override checkWriter(threadId: string, writer: SandboxCheckpointWriter): void {
        try {
          super.checkWriter(threadId, writer)
        } catch {
          throw new Error('lost')
        }
      }
    },
  ),

  storeFault(
    'deleteHead leaves no head',
    class extends MemoryCheckpointStore {
      override async deleteHead(input: SandboxCheckpointDeleteHeadInput): Promise<void> {
        await super.deleteHead(input)
        this.chain(input.threadId).length = 0
      }
    },
  ),
  storeFault(
    'deleteHead deletes any checkpoint of the thread',
    class extends MemoryCheckpointStore {
      protected override deleteHeadChecks(input: SandboxCheckpointDeleteHeadInput): Check[] {
        const isHere = this.checkpoints.get(input.checkpointId)?.threadId === input.threadId
        return super.deleteHeadChecks(input).slice(0, isHere ? 2 : 3)
      }
    },
  ),
  storeFault(
    'deleteHead on an empty thread succeeds',
    class extends MemoryCheckpointStore {
      protected override deleteHeadChecks(input: SandboxCheckpointDeleteHeadInput): Check[] {
        return super.deleteHeadChecks(input).slice(0, this.headOf(input.threadId) === null ? 2 : 3)
      }
    },
  ),
  storeFault(
    'a repeated append is a duplicate',
    class extends MemoryCheckpointStore {
      override async append({ requestToken, ...input }: SandboxCheckpointAppendInput): Promise<{ headId: string }> {
        return super.append(input)
      }
    },
  ),
  storeFault(
    'a repeated deleteHead is refused',
    class extends MemoryCheckpointStore {
      override async deleteHead({ requestToken, ...input }: SandboxCheckpointDeleteHeadInput): Promise<void> {
        return super.deleteHead(input)
      }
    },
  ),
]
