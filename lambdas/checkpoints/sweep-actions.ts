import type { SweepReport } from '../../src/sweep/report.ts'
import { type Action, action } from '../shared/action.ts'
import { json } from '../shared/answer.ts'
import { timestamp } from '../shared/timestamp.ts'
import type { CheckpointAction } from './routes.ts'
import * as schemas from './schemas.ts'
import type { Services } from './service.ts'

/** Sweeps, their reports, and what a scope keeps. A sweep itself runs in a function of its own, for as long as it takes. */
export function sweepActions({
  sweeps,
}: Services): Record<Extract<CheckpointAction, `sweep${string}` | 'usage'>, Action> {
  return {
    sweepStart: action(schemas.sweepStart, async ({ older_than_ms, dry_run, wait_ms }, call) => {
      const options = { olderThanMs: older_than_ms, dryRun: dry_run, waitMs: wait_ms }
      const { sweepId } = await sweeps(call).start(options)
      return json(202, { sweep_id: sweepId })
    }),
    sweepList: action(schemas.sweepList, async ({ limit }, call) => {
      const reports = await sweeps(call).list({ limit })
      return json(200, { sweeps: reports.map(shown) })
    }),
    usage: action(schemas.usage, async (_input, call) => {
      const usage = await sweeps(call).usage()
      return json(200, {
        threads: usage.threads,
        checkpoints: usage.checkpoints,
        referenced_blobs: usage.referencedBlobs,
        referenced_bytes: usage.referencedBytes,
        logical_bytes: usage.logicalBytes,
        unreferenced_blobs: usage.unreferencedBlobs,
        unreferenced_bytes: usage.unreferencedBytes,
      })
    }),
  }
}

function shown(report: SweepReport) {
  return {
    sweep_id: report.id,
    state: report.state,
    started_at: timestamp(report.startedAt),
    seconds: report.seconds,
    dry_run: report.dryRun,
    listed: report.listed,
    referenced: report.referenced,
    condemned: report.condemned,
    spared: report.spared,
    deleted: report.deleted,
    bytes_freed: report.bytesFreed,
    cleared: report.cleared,
    requests: report.requests,
    cost_usd: report.costUsd,
    failures: report.failures,
  }
}
