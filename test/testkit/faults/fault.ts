import type {
  SandboxCheckpoint,
  SandboxCheckpointStore,
  SandboxCheckpointStoreOptions,
  SandboxSnapshotEntry,
} from '../../../src/checkpoints/types.ts'
import { MemoryCheckpointStore } from '../../../testkit/memory-checkpoint-store.ts'
import type { MemoryLeases } from '../../../testkit/memory-leases.ts'

/** A store that breaks one rule of the contract. */
export interface Fault {
  name: string
  make(options: SandboxCheckpointStoreOptions): SandboxCheckpointStore
}

type StoreClass = new (options: SandboxCheckpointStoreOptions) => MemoryCheckpointStore
type LeasesClass = new (options: SandboxCheckpointStoreOptions) => MemoryLeases

export function storeFault(name: string, Store: StoreClass): Fault {
  return { name, make: (options) => new Store(options) }
}

export function leaseFault(name: string, Leases: LeasesClass): Fault {
  return { name, make: (options) => new MemoryCheckpointStore(options, new Leases(options)) }
}

/** What is stored differs from what was given. */
export function storedFault(name: string, change: (checkpoint: SandboxCheckpoint) => object): Fault {
  return storeFault(
    name,
    class extends MemoryCheckpointStore {
      protected override publish(checkpoint: SandboxCheckpoint): void {
        super.publish({ ...checkpoint, ...change(checkpoint) } as SandboxCheckpoint)
      }
    },
  )
}

/** A rule is not checked: the checks see what obeys it instead. */
export function uncheckedFault(name: string, obey: (checkpoint: SandboxCheckpoint) => object): Fault {
  return storeFault(
    name,
    class extends MemoryCheckpointStore {
      protected override checkEntries(checkpoint: SandboxCheckpoint): void {
        super.checkEntries({ ...checkpoint, ...obey(checkpoint) } as SandboxCheckpoint)
      }
    },
  )
}

/** A rule of one entry is not checked. */
export function uncheckedEntryFault(name: string, obey: (entry: SandboxSnapshotEntry) => object): Fault {
  return uncheckedFault(name, ({ files }) => ({
    files: Array.isArray(files)
      ? files.map((entry) => (typeof entry === 'object' && entry !== null ? { ...entry, ...obey(entry) } : entry))
      : files,
  }))
}
