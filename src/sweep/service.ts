import { Table } from '../table/table.ts'
import type { Scope } from '../tenancy/scope.ts'
import { listReports, newSweepId, type SweepReport } from './report.ts'
import { DEFAULT_OLDER_THAN_MS, type SweepConfig, type SweepEvent } from './run.ts'
import { readUsage, type Usage } from './usage.ts'

export interface StartSweepOptions {
  /** Only what is older than this goes, strictly. Default: a day. */
  olderThanMs?: number
  /** Counts what would be condemned, and changes nothing. Default false. */
  dryRun?: boolean
  /** How long to wait, at most, for writer leases to end; what still waits goes with a later sweep. Default 0. */
  waitMs?: number
}

/** Sweeps of one scope, and what the scope keeps. */
export interface SweepService {
  /** Has a sweep begin in the background. Its report is there soon after, in the state `running` until it is over. */
  start(options?: StartSweepOptions): Promise<{ sweepId: string }>
  /** Reports of the last sweeps, newest first: 1 to 100, by default 20. They are kept for 90 days. */
  list(options?: { limit?: number }): Promise<SweepReport[]>
  usage(): Promise<Usage>
}

export interface SweepServiceConfig extends SweepConfig {
  scope: Scope
  /** Has the sweep function called, and does not wait for it. */
  startSweep(event: SweepEvent): Promise<void>
}

const DEFAULT_REPORTS = 20

export function createSweepService(config: SweepServiceConfig): SweepService {
  const { dynamodb, s3, tableName, bucketName, scope, now = Date.now } = config
  const table = new Table(dynamodb, tableName)
  return {
    async start({ olderThanMs = DEFAULT_OLDER_THAN_MS, dryRun = false, waitMs = 0 } = {}) {
      const id = newSweepId(now())
      await config.startSweep({ one: { scope, id, olderThanMs, dryRun, waitMs } })
      return { sweepId: id }
    },
    list: ({ limit = DEFAULT_REPORTS } = {}) => listReports(table, scope, limit, now()),
    usage: () => readUsage({ table, s3, bucketName, scope }),
  }
}
