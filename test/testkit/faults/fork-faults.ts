import {
  SandboxCheckpointDuplicateIdError,
  SandboxCheckpointError,
  SandboxCheckpointWriterLostError,
} from '../../../src/checkpoints/errors.ts'
import type {
  SandboxCheckpoint,
  SandboxCheckpointDeleteHeadInput,
  SandboxCheckpointForkInput,
  SandboxCheckpointStoreOptions,
} from '../../../src/checkpoints/types.ts'
import { type Check, MemoryCheckpointStore } from '../../../testkit/memory-checkpoint-store.ts'
import { MemoryLeases } from '../../../testkit/memory-leases.ts'
import { type Fault, storeFault } from './fault.ts'

/** The fork's root has these fields of the source. */
function forkFault(name: string, change: (source: SandboxCheckpoint) => object): Fault {
  return storeFault(
    name,
    class extends MemoryCheckpointStore {
      protected override forkRoot(source: SandboxCheckpoint, input: SandboxCheckpointForkInput): SandboxCheckpoint {
        return { ...super.forkRoot(source, input), ...change(source) }
      }
    },
  )
}

function destinationFault(
  name: string,
  fails: (store: DestinationFault, input: SandboxCheckpointForkInput) => void,
): Fault {
  return storeFault(
    name,
    class extends DestinationFault {
      protected override forkChecks(input: SandboxCheckpointForkInput): Check[] {
        return [...super.forkChecks(input).slice(0, 6), () => fails(this, input)]
      }
    },
  )
}

class DestinationFault extends MemoryCheckpointStore {
  hasHead(threadId: string): boolean {
    return this.headOf(threadId) !== null
  }
  has(id: string): boolean {
    return this.checkpoints.has(id)
  }
}

class HeldLeases extends MemoryLeases {
  isHeld(threadId: string): boolean {
    const held = this.leases.get(threadId)
    return held !== undefined && this.isLive(held)
  }
}

class SourceLeaseFault extends MemoryCheckpointStore {
  readonly #leases: HeldLeases
  constructor(options: SandboxCheckpointStoreOptions, leases: HeldLeases) {
    super(options, leases)
    this.#leases = leases
  }
  protected override forkChecks(input: SandboxCheckpointForkInput): Check[] {
    const sourceLease = () => {
      if (!this.#leases.isHeld(input.sourceThreadId)) throw new SandboxCheckpointWriterLostError('not held')
    }
    return [...super.forkChecks(input), sourceLease]
  }
}

const notEmpty = () => new SandboxCheckpointError('SANDBOX_SNAPSHOT_FORK_DESTINATION_NOT_EMPTY', 'not empty')

export const forkFaults: Fault[] = [
  forkFault('a fork copies the label', ({ label }) => ({ label })),
  forkFault('a fork copies the run', ({ sourceRunId }) => ({ sourceRunId })),
  forkFault('a fork copies the reason', ({ reason }) => ({ reason })),
  forkFault('a fork copies createdAt', ({ createdAt }) => ({ createdAt })),
  forkFault('a fork copies unknown fields', (source) => ({ ...('note' in source && { note: source.note }) })),
  forkFault('a fork has the source as its parent', ({ id }) => ({ parentCheckpointId: id })),
  forkFault('a fork does not copy the conversation', () => ({ conversation: [] })),
  forkFault('a fork does not copy artifacts', () => ({ artifacts: [] })),
  forkFault('a fork does not copy files', () => ({ files: [] })),
  storeFault(
    'only the head can be forked',
    class extends MemoryCheckpointStore {
      protected override forkChecks(input: SandboxCheckpointForkInput): Check[] {
        const isHead = this.headOf(input.sourceThreadId) === input.sourceCheckpointId
        const late = () => {
          if (!isHead) throw new SandboxCheckpointError('SANDBOX_SNAPSHOT_FORK_SOURCE_NOT_FOUND', 'not the head')
        }
        return [...super.forkChecks(input), late]
      }
    },
  ),
  storeFault(
    'a fork becomes the head of the source too',
    class extends MemoryCheckpointStore {
      override async forkFromCheckpoint(input: SandboxCheckpointForkInput): Promise<{ checkpoint: SandboxCheckpoint }> {
        const answer = await super.forkFromCheckpoint(input)
        this.chain(input.sourceThreadId).push(input.destinationCheckpointId)
        return answer
      }
    },
  ),
  storeFault(
    'a fork is not the head of its thread',
    class extends MemoryCheckpointStore {
      override async forkFromCheckpoint(input: SandboxCheckpointForkInput): Promise<{ checkpoint: SandboxCheckpoint }> {
        const answer = await super.forkFromCheckpoint(input)
        this.chain(input.destinationThreadId).length = 0
        return answer
      }
    },
  ),
  storeFault(
    'a fork returns what the store holds',
    class extends MemoryCheckpointStore {
      override async forkFromCheckpoint(input: SandboxCheckpointForkInput): Promise<{ checkpoint: SandboxCheckpoint }> {
        const { checkpoint } = await super.forkFromCheckpoint(input)
        return { checkpoint: this.checkpoints.get(checkpoint.id) ?? checkpoint }
      }
    },
  ),
  storeFault(
    'a fork is not counted',
    class extends MemoryCheckpointStore {
      protected override blobKeys(checkpoint: SandboxCheckpoint): Iterable<string> {
        return checkpoint.reason === 'fork-root' ? [] : super.blobKeys(checkpoint)
      }
    },
  ),
  storeFault(
    'a fork goes when its source goes',
    class extends MemoryCheckpointStore {
      readonly #forks = new Map<string, string>()
      override async forkFromCheckpoint(input: SandboxCheckpointForkInput): Promise<{ checkpoint: SandboxCheckpoint }> {
        const answer = await super.forkFromCheckpoint(input)
        this.#forks.set(input.sourceCheckpointId, input.destinationCheckpointId)
        return answer
      }
      override async deleteHead(input: SandboxCheckpointDeleteHeadInput): Promise<void> {
        await super.deleteHead(input)
        this.checkpoints.delete(this.#forks.get(input.checkpointId) ?? '')
      }
    },
  ),
  {
    name: 'a fork needs a lease of the source too',
    make: (options) => new SourceLeaseFault(options, new HeldLeases(options)),
  },
  destinationFault('a fork only looks at the destination id', (store, { destinationCheckpointId }) => {
    if (store.has(destinationCheckpointId)) throw notEmpty()
  }),
  destinationFault('a fork only looks at the destination thread', (store, { destinationThreadId }) => {
    if (store.hasHead(destinationThreadId)) throw notEmpty()
  }),
  destinationFault('a fork to a used id is a duplicate', (store, { destinationThreadId, destinationCheckpointId }) => {
    if (store.hasHead(destinationThreadId)) throw notEmpty()
    if (store.has(destinationCheckpointId)) throw new SandboxCheckpointDuplicateIdError('used')
  }),
  storeFault(
    'a repeated fork is refused',
    class extends MemoryCheckpointStore {
      override async forkFromCheckpoint({
        requestToken,
        ...input
      }: SandboxCheckpointForkInput): Promise<{ checkpoint: SandboxCheckpoint }> {
        return super.forkFromCheckpoint(input)
      }
    },
  ),
]
