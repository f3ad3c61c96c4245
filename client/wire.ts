import type { SandboxCheckpointWriter } from '../src/checkpoints/types.ts'

/**
 * A value that should be an id or a number, as JSON can carry it. What it cannot carry is left out, and an id or number
 * that is missing is refused by the API with the same error as one that is wrong.
 */
export function wireScalar(value: unknown): unknown {
  return ['string', 'number', 'boolean'].includes(typeof value) || value === null ? value : undefined
}

export function wireWriter(writer: SandboxCheckpointWriter) {
  return {
    thread_id: wireScalar(writer?.threadId),
    owner_token: wireScalar(writer?.ownerToken),
    fence: wireScalar(writer?.fence),
  }
}
