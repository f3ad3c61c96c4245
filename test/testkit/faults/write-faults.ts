import type {
  SandboxCheckpointAppendInput,
  SandboxCheckpointDeleteHeadInput,
  SandboxCheckpointDeleteInput,
  SandboxCheckpointForkInput,
} from '../../../src/checkpoints/types.ts'
import { type Check, MemoryCheckpointStore } from '../../../testkit/memory-checkpoint-store.ts'
import { type Fault, storeFault } from './fault.ts'

type Write = 'append' | 'deleteHead' | 'deleteCheckpoints' | 'fork'

/** The checks of each write by name, in the contract's order. */
const steps: Record<Write, string[]> = {
  append: ['ids', 'entries', 'writer', 'duplicate', 'head', 'parent'],
  deleteHead: ['ids', 'writer', 'head'],
  deleteCheckpoints: ['ids', 'keep', 'writer'],
  fork: ['ids', 'createdAt', 'same thread', 'source unknown', 'source thread', 'writer', 'destination'],
}

/** These cannot fail together, and with nothing between them: no input tells their order. */
const inseparable = ['source unknown', 'source thread']

function withChecks(name: string, write: Write, change: (checks: Check[]) => Check[]): Fault {
  const changed = (which: Write, checks: Check[]) => (which === write ? change(checks) : checks)
  return storeFault(
    name,
    class extends MemoryCheckpointStore {
      protected override appendChecks(input: SandboxCheckpointAppendInput): Check[] {
        return changed('append', super.appendChecks(input))
      }
      protected override deleteHeadChecks(input: SandboxCheckpointDeleteHeadInput): Check[] {
        return changed('deleteHead', super.deleteHeadChecks(input))
      }
      protected override deleteCheckpointsChecks(input: SandboxCheckpointDeleteInput): Check[] {
        return changed('deleteCheckpoints', super.deleteCheckpointsChecks(input))
      }
      protected override forkChecks(input: SandboxCheckpointForkInput): Check[] {
        return changed('fork', super.forkChecks(input))
      }
    },
  )
}

function swapped(checks: Check[], first: number, second: number): Check[] {
  return checks.map((check, index) => checks[index === first ? second : index === second ? first : index] ?? check)
}

const writes = Object.entries(steps) as Array<[Write, string[]]>

/** For each two checks of a write that can fail together, a store that makes them in the other order. */
export const swapFaults: Fault[] = writes.flatMap(([write, names]) =>
  names.flatMap((first, at) =>
    names
      .map((second, index) => ({ second, index }))
      .filter(({ second, index }) => index > at && !(inseparable.includes(first) && inseparable.includes(second)))
      .map(({ second, index }) =>
        withChecks(`${write} checks ${second} before ${first}`, write, (checks) => swapped(checks, at, index)),
      ),
  ),
)

/** For each check of a write, a store that does not make it. */
export const missingCheckFaults: Fault[] = writes.flatMap(([write, names]) =>
  names.map((name, at) => withChecks(`${write} does not check ${name}`, write, (checks) => checks.toSpliced(at, 1))),
)

/** A writer that holds its own thread passes as the writer of another. */
function anyThreadFault(write: Write): Fault {
  const asWriter = <Input extends SandboxCheckpointDeleteInput | SandboxCheckpointDeleteHeadInput>(input: Input) => ({
    ...input,
    threadId: input.writer.threadId,
  })
  return storeFault(
    `${write} takes a writer of another thread`,
    class extends MemoryCheckpointStore {
      protected override appendChecks(input: SandboxCheckpointAppendInput): Check[] {
        const checks = super.appendChecks(input)
        return write === 'append' ? checks.with(2, () => this.checkWriter(input.writer.threadId, input.writer)) : checks
      }
      protected override deleteHeadChecks(input: SandboxCheckpointDeleteHeadInput): Check[] {
        const checks = super.deleteHeadChecks(input)
        const lax = super.deleteHeadChecks(asWriter(input))[1]
        return write === 'deleteHead' && lax !== undefined ? checks.with(1, lax) : checks
      }
      protected override deleteCheckpointsChecks(input: SandboxCheckpointDeleteInput): Check[] {
        const checks = super.deleteCheckpointsChecks(input)
        const lax = super.deleteCheckpointsChecks(asWriter(input))[2]
        return write === 'deleteCheckpoints' && lax !== undefined ? checks.with(2, lax) : checks
      }
      protected override forkChecks(input: SandboxCheckpointForkInput): Check[] {
        const checks = super.forkChecks(input)
        return write === 'fork' ? checks.with(5, () => this.checkWriter(input.writer.threadId, input.writer)) : checks
      }
    },
  )
}

export const anyThreadFaults: Fault[] = writes.map(([write]) => anyThreadFault(write))
