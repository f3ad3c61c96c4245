import type { Table } from '../table/table.ts'
import type { Scope } from '../tenancy/scope.ts'
import type { Uploads } from '../uploads/uploads.ts'
import type { MemoryObjects } from './objects.ts'

/** What every operation of the memory works on. */
export interface MemoryContext {
  table: Table
  objects: MemoryObjects
  uploads: Uploads
  scope: Scope
  /** Milliseconds since the epoch. */
  now: () => number
  /** For how long a task is kept after its last write. */
  retentionMs: number
}
