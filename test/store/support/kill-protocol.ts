import { createHash } from 'node:crypto'
import type { Scope } from '../../../src/tenancy/scope.ts'

/** What the parent sends to begin. */
export interface Start {
  endpoints: { dynamodb: string; s3: string }
  region: string
  credentials: { accessKeyId: string; secretAccessKey: string }
  tableName: string
  bucketName: string
  scope: Scope
  threads: string[]
  seed: number
  /** The time, which stands still while the child lives. */
  time: number
  /** The number of the request at which to stop. */
  stopAt: number
  /** Before it is sent, when it is on its way, or when its answer has come. */
  stopWhen: 'before' | 'during' | 'after'
}

/** What the child tells: a write begins, with the thread's ids before and after it; it is done; the request is reached. */
export type Report =
  | { kind: 'begin'; operation: Operation; thread: string; before: string[]; after: string[] }
  | { kind: 'done' }
  | { kind: 'stopped' }

export type Operation = 'append' | 'deleteHead' | 'prune' | 'fork'

export const LEASE_MS = 60_000
export const SHARED_KEY = `sandbox-files/sha256/${'0'.repeat(64)}`

/** The blob key that only the checkpoint of this id uses. */
export function ownKey(id: string): string {
  return `sandbox-files/sha256/${createHash('sha256').update(id).digest('hex')}`
}
