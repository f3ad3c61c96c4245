import type { S3Client } from '@aws-sdk/client-s3'
import type { Table } from '../table/table.ts'
import type { Scope } from '../tenancy/scope.ts'
import type { Bodies } from './bodies.ts'
import type { ThreadState } from './items.ts'
import type { SandboxCheckpointWriter } from './types.ts'

/** What the parts of one store share. */
export interface StoreContext {
  readonly table: Table
  readonly s3: S3Client
  readonly bucketName: string
  readonly bodies: Bodies
  readonly scope: Scope
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly leaseDurationMs: number
  readonly renewAfterMs: number
  /**
   * What the holder of a lease, by the very object, last saw of its thread. It saves the read before an append, whose
   * conditions find out when it is old.
   */
  readonly seen: WeakMap<SandboxCheckpointWriter, { threadHash: string; state: ThreadState }>
}
