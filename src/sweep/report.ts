import { randomUUID } from 'node:crypto'
import { reportPartition } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'

/** What a sweep of one scope has met and done. */
export interface SweepCounts {
  /** Versions of blobs and bodies. */
  listed: number
  /** Blobs that a checkpoint uses. */
  referenced: number
  /** Versions put on pages. */
  condemned: number
  /** Versions on pages that turned out to be used. */
  spared: number
  deleted: number
  /** Of blobs, bodies, and objects of the memory. */
  bytesFreed: number
  /** What was deleted, has expired or was left half-done, and was cleared away: checkpoints, tasks, files, uploads. */
  cleared: number
}

export interface SweepReport extends SweepCounts {
  id: string
  /** `waiting`: what is condemned waits for writer leases to end, and goes with a later run. */
  state: 'running' | 'done' | 'waiting' | 'failed'
  /** Milliseconds since the epoch. */
  startedAt: number
  seconds: number
  /** To DynamoDB and S3. */
  requests: number
  /** Of those requests, at public prices. */
  costUsd: number
  dryRun: boolean
  /** Of a sweep that waits: how many bytes are condemned. */
  bytesWaiting?: number
  /** What S3 would not delete: it is tried again by the next run. */
  failures: Array<{ key: string; reason: string }>
}

const REPORT_DAYS = 90
const DAY_MS = 86_400_000
/** A report names at most so many failures, so that it fits into an item. */
const MAX_FAILURES = 100

export function noCounts(): SweepCounts {
  return { listed: 0, referenced: 0, condemned: 0, spared: 0, deleted: 0, bytesFreed: 0, cleared: 0 }
}

/** A name for a run; names sort by the time at which runs began. */
export function newSweepId(now: number): string {
  return `${new Date(now).toISOString()}-${randomUUID().slice(0, 8)}`
}

/** Keeps a report for 90 days, in place of an earlier one of the same run. */
export async function keepReport(table: Table, scope: Scope, report: SweepReport): Promise<void> {
  const text = JSON.stringify({ ...report, failures: report.failures.slice(0, MAX_FAILURES) })
  const ttl = Math.ceil((report.startedAt + REPORT_DAYS * DAY_MS) / 1000)
  await retryTransient(() => table.put({ pk: reportPartition(scope), sk: report.id, report: text, ttl }))
}

/** The newest reports of a scope, newest first. Those past their time are left out, whether they are still there or not. */
export async function listReports(table: Table, scope: Scope, limit: number, now: number): Promise<SweepReport[]> {
  const reports: SweepReport[] = []
  for await (const items of table.query(reportPartition(scope), { attributes: ['report', 'ttl'] })) {
    for (const item of items) {
      if ((item.ttl as number) * 1000 > now) reports.push(JSON.parse(item.report as string) as SweepReport)
    }
  }
  return reports.reverse().slice(0, limit)
}

/** Removes reports that are past their time, should DynamoDB not have done so. */
export async function removeOldReports(table: Table, scope: Scope, now: number): Promise<number> {
  let removed = 0
  for await (const items of table.query(reportPartition(scope), { attributes: ['pk', 'sk', 'ttl'] })) {
    for (const { pk, sk, ttl } of items) {
      if ((ttl as number) * 1000 > now) continue
      await retryTransient(() => table.delete({ pk: pk as string, sk: sk as string }))
      removed += 1
    }
  }
  return removed
}
