import { setInterval } from 'node:timers/promises'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'
import type { AnthropicConnection } from '../anthropic/connection.ts'
import { Bodies } from '../checkpoints/bodies.ts'
import { sweepFiles } from '../files/sweep.ts'
import { SANDBOX_RETENTION_SECONDS } from '../limits.ts'
import { sweepMemory } from '../memory/sweep.ts'
import { sweepSandboxes } from '../sandboxes/sweep.ts'
import { SCOPES_PARTITION, scopeKey, scopeOf } from '../table/keys.ts'
import { Table } from '../table/table.ts'
import type { Scope } from '../tenancy/scope.ts'
import { requestCost } from './cost.ts'
import { bytesOnPages } from './pages.ts'
import { keepReport, newSweepId, noCounts, removeOldReports, type SweepCounts, type SweepReport } from './report.ts'
import { type ScopeSweepResult, sweepScope } from './scope-sweep.ts'
import { blobScopes } from './scopes.ts'

export interface SweepConfig {
  dynamodb: DynamoDBClient
  s3: S3Client
  tableName: string
  bucketName: string
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: (() => number) | undefined
  /** How long an expired or destroyed sandbox is kept, in seconds. Default: 30 days. */
  sandboxRetentionSec?: number | undefined
  /** Where files are that are kept with Anthropic. */
  anthropic?: AnthropicConnection | undefined
}

/** One scope, or what is left of it. */
export interface ScopeSweepRequest {
  scope: Scope
  id: string
  olderThanMs: number
  dryRun: boolean
  waitMs: number
  /** What a run before this one has done of the same request: up to a sandbox, a blob, or an object of the memory. */
  resume?: SweepResume & { report: SweepReport }
}

/** `waiting`: what is condemned waits for writer leases to end. */
type SweepResume = { sandboxesAfter: string } | { after: string } | { memoryAfter: string; waiting: boolean }

type Outcome = Pick<ScopeSweepResult, 'counts' | 'failures' | 'lists' | 'deletes'>

/** Longer than any capture: a blob that was uploaded so long ago and is not used was left behind. */
export const DEFAULT_OLDER_THAN_MS = 86_400_000

/**
 * Sweeps one scope and keeps the report of it.
 * @returns the report, and what is left to do when the time was up before all was done
 */
export async function runScopeSweep(
  config: SweepConfig,
  request: ScopeSweepRequest,
  timeIsUp: () => boolean,
): Promise<{ report: SweepReport; rest?: ScopeSweepRequest }> {
  const { now = Date.now } = config
  const { scope, id, dryRun, resume } = request
  const meter = { requests: 0, readUnits: 0, writeUnits: 0 }
  const table = new Table(config.dynamodb, config.tableName, meter)
  const began = Date.now()
  const startedAt = resume?.report.startedAt ?? now()
  const report = (state: SweepReport['state'], result: Outcome): SweepReport => ({
    id,
    state,
    startedAt,
    dryRun,
    ...addCounts(resume?.report ?? noCounts(), result.counts),
    seconds: (resume?.report.seconds ?? 0) + (Date.now() - began) / 1000,
    requests: (resume?.report.requests ?? 0) + meter.requests + result.lists + result.deletes,
    costUsd: (resume?.report.costUsd ?? 0) + requestCost({ ...meter, lists: result.lists }),
    failures: [...(resume?.report.failures ?? []), ...result.failures],
  })
  const counts = noCounts()
  const soFar = { counts, failures: [], lists: 0, deletes: 0 }
  const progress = () => keepReport(table, scope, report('running', soFar))
  await progress()
  const stopProgress = repeatedly(progress)
  try {
    const { result, rest } = await sweepParts(config, request, { table, counts, timeIsUp }).finally(stopProgress)
    const kept = report(rest ? 'running' : result.waiting ? 'waiting' : 'done', result)
    if (kept.state === 'waiting') kept.bytesWaiting = await bytesOnPages(table, scope)
    await keepReport(table, scope, kept)
    return { report: kept, ...(rest && { rest: { ...request, resume: { ...rest, report: kept } } }) }
  } catch (error) {
    await keepReport(table, scope, report('failed', soFar))
    throw error
  }
}

/** What a scope has, one part after the other: those that can take longer than one run last, and resumed where they were. */
async function sweepParts(
  config: SweepConfig,
  { scope, olderThanMs, dryRun, waitMs, resume }: ScopeSweepRequest,
  { table, counts, timeIsUp }: { table: Table; counts: SweepCounts; timeIsUp: () => boolean },
): Promise<{ result: Outcome & { waiting: boolean }; rest?: SweepResume }> {
  const { s3, bucketName, now = Date.now } = config
  const result = { counts, failures: [] as SweepReport['failures'], lists: 0, deletes: 0, waiting: false }
  const add = (part: { failures: SweepReport['failures']; lists?: number; deletes?: number }): void => {
    result.failures.push(...part.failures)
    result.lists += part.lists ?? 0
    result.deletes += part.deletes ?? 0
  }
  if (resume && 'memoryAfter' in resume) result.waiting = resume.waiting
  else {
    const blobsAfter = resume && 'after' in resume ? resume.after : undefined
    // Before the blobs are looked at: those of the snapshots that go are then unused.
    if (!dryRun && blobsAfter === undefined) {
      const after = resume && 'sandboxesAfter' in resume ? resume.sandboxesAfter : undefined
      const retentionMs = (config.sandboxRetentionSec ?? SANDBOX_RETENTION_SECONDS) * 1000
      const bodies = new Bodies(s3, bucketName, scope)
      const sandboxes = await sweepSandboxes({ table, scope, now, retentionMs, bodies, timeIsUp, after })
      counts.cleared += sandboxes.cleared
      const { resumeAfter: sandboxesAfter } = sandboxes
      if (sandboxesAfter !== undefined) return { result, rest: { sandboxesAfter } }
    }
    const swept = await sweepScope({
      ...{ table, s3, bucketName, scope, now, olderThanMs, dryRun, waitMs, timeIsUp, counts },
      resumeAfter: blobsAfter,
    })
    add(swept)
    result.waiting = swept.waiting
    if (!dryRun) counts.cleared += await removeOldReports(table, scope, now())
    if (swept.resumeAfter !== undefined) return { result, rest: { after: swept.resumeAfter } }
    if (dryRun) return { result }
    const files = await sweepFiles({ ...config, table, scope, timeIsUp })
    counts.cleared += files.cleared
    add(files)
  }
  const after = resume && 'memoryAfter' in resume ? resume.memoryAfter : undefined
  const memory = await sweepMemory({ table, s3, bucketName, scope, now, timeIsUp, after })
  counts.cleared += memory.cleared
  counts.bytesFreed += memory.bytesFreed
  add(memory)
  const { resumeAfter: memoryAfter } = memory
  return { result, ...(memoryAfter !== undefined && { rest: { memoryAfter, waiting: result.waiting } }) }
}

/** How often the report of a sweep that runs is renewed. */
const PROGRESS_MS = 2_000

/** Does the work every two seconds, one after the other. @returns what ends that, and waits for work under way */
function repeatedly(work: () => Promise<void>): () => Promise<void> {
  const stopped = new AbortController()
  const run = async (): Promise<void> => {
    try {
      for await (const _ of setInterval(PROGRESS_MS, undefined, { signal: stopped.signal })) await work()
    } catch (error) {
      // A report of progress that could not be kept is not worth the sweep.
      if (!stopped.signal.aborted) console.warn(error)
    }
  }
  const running = run()
  return () => {
    stopped.abort()
    return running
  }
}

/** What one call of the sweep function is to do. The scheduled call says nothing, which is to sweep all scopes. */
export interface SweepEvent {
  one?: ScopeSweepRequest
  all?: AllScopesRequest
}

/** Of all scopes, those still to be swept. */
export interface AllScopesRequest {
  /** The scopes up to this one, in the order of their names, are done. */
  after?: Scope
  /** The scope in which the run before ran out of time. */
  current?: ScopeSweepRequest
}

/**
 * Sweeps every scope that has data; one that fails does not keep the others from it.
 * @returns what failed, and what is left to do when the time was up
 */
export async function runAllSweeps(
  config: SweepConfig,
  request: AllScopesRequest,
  timeIsUp: () => boolean,
): Promise<{ reports: SweepReport[]; failures: Array<{ scope: Scope; cause: unknown }>; rest?: AllScopesRequest }> {
  const { now = Date.now } = config
  const reports: SweepReport[] = []
  const failures: Array<{ scope: Scope; cause: unknown }> = []
  let after = request.after
  let current = request.current
  for (const scope of await scopesAfter(config, after)) {
    if (timeIsUp()) return { reports, failures, rest: { ...(after && { after }), ...(current && { current }) } }
    const fresh = { scope, id: newSweepId(now()), olderThanMs: DEFAULT_OLDER_THAN_MS, dryRun: false, waitMs: 0 }
    try {
      const { report, rest } = await runScopeSweep(config, current ?? fresh, timeIsUp)
      current = rest
      if (rest) return { reports, failures, rest: { ...(after && { after }), current: rest } }
      reports.push(report)
    } catch (cause) {
      failures.push({ scope, cause })
      current = undefined
    }
    after = scope
  }
  return { reports, failures }
}

/** The scopes that have threads or blobs, in the order of their names, from the one after `after` on. */
async function scopesAfter(config: SweepConfig, after: Scope | undefined): Promise<Scope[]> {
  const names = new Set<string>()
  const table = new Table(config.dynamodb, config.tableName)
  for await (const items of table.query(SCOPES_PARTITION, { attributes: ['sk'] })) {
    for (const { sk } of items) names.add(sk as string)
  }
  for await (const scope of blobScopes(config.s3, config.bucketName)) names.add(scopeKey(scope).sk)
  const done = after ? scopeKey(after).sk : ''
  return [...names]
    .sort()
    .filter((name) => name > done)
    .map(scopeOf)
}

function addCounts(left: SweepCounts, right: SweepCounts): SweepCounts {
  const sum = noCounts()
  for (const name of Object.keys(sum) as Array<keyof SweepCounts>) sum[name] = left[name] + right[name]
  return sum
}
