import type { SandboxCheckpoint } from '../../../src/checkpoints/types.ts'

/** A valid checkpoint; a root unless told otherwise. */
export function checkpoint(id: string, threadId: string, more: Partial<SandboxCheckpoint> = {}): SandboxCheckpoint {
  return {
    id,
    threadId,
    parentCheckpointId: null,
    createdAt: 1_000,
    reason: 'automatic',
    files: [],
    conversation: [],
    artifacts: [],
    ...more,
  }
}
