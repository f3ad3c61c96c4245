import { compareUtf8 } from '../text.ts'
import type { SandboxCheckpoint } from './types.ts'

/** The order of a list: `createdAt`, then the UTF-8 bytes of the id. */
export function compareCheckpoints(left: SandboxCheckpoint, right: SandboxCheckpoint): number {
  return left.createdAt - right.createdAt || compareUtf8(left.id, right.id)
}
