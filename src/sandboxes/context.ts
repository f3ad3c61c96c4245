import type { BlobBulk } from '../blobs/types.ts'
import type { StoreContext } from '../checkpoints/context.ts'

/** What the parts of one sandbox store share. */
export interface SandboxContext extends StoreContext {
  readonly blobs: BlobBulk
  /** For how long an ended sandbox is kept, in milliseconds. */
  readonly retentionMs: number
}

/** What is asked of the table alone. */
export type SandboxTable = Pick<SandboxContext, 'table' | 'scope' | 'now' | 'retentionMs'>
