import type { Table } from '../table/table.ts'
import type { Scope } from '../tenancy/scope.ts'
import type { Bodies } from './bodies.ts'

/** What the parts of one store share. */
export interface StoreContext {
  readonly table: Table
  readonly bodies: Bodies
  readonly scope: Scope
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly leaseDurationMs: number
  readonly renewAfterMs: number
}
