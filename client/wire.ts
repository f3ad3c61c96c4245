import type { SandboxCheckpointWriter } from '../src/checkpoints/types.ts'

/**
 * A value that should be an id or a number, as JSON can carry it; what JSON would turn into another valid value, or
 * fail on, is left out, which the API refuses with the same error as the value itself.
 */
export function wireScalar(value: unknown): string | number | boolean | null | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : undefined
    default:
      return value === null ? null : undefined
  }
}

export function wireWriter(writer: SandboxCheckpointWriter) {
  return {
    thread_id: wireScalar(writer?.threadId),
    owner_token: wireScalar(writer?.ownerToken),
    fence: wireScalar(writer?.fence),
  }
}
