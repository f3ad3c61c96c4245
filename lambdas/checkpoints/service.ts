import type { BlobExchange, BlobStore } from '../../src/blobs/types.ts'
import type { SandboxCheckpoint, SandboxCheckpointStore, SandboxCheckpointWriter } from '../../src/checkpoints/types.ts'
import type { Call } from '../shared/request.ts'

/** What the handler needs of a store beyond the contract. */
export interface CheckpointService extends SandboxCheckpointStore {
  listPage(input: {
    threadId: string
    after?: string | null
    maxBytes: number
  }): Promise<{ checkpoints: SandboxCheckpoint[]; next: string | null }>
  renewWriter(writer: SandboxCheckpointWriter): Promise<{ expiresAt: number }>
  releaseWriter(writer: SandboxCheckpointWriter): Promise<void>
}

/** The stores of a request's scope. */
export interface Services {
  checkpoints(call: Call): CheckpointService
  blobs(call: Call): BlobStore & BlobExchange
}
