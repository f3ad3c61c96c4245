import { runAllSweeps, runScopeSweep, type SweepEvent } from '../../src/sweep/run.ts'
import type { SweepHandlerConfig } from '../shared/sweep-config.ts'
import type { SweepTelemetry } from './telemetry.ts'

/** What the function asks of the clock that ends it. */
export interface RemainingTime {
  getRemainingTimeInMillis(): number
}

/** What is under way when this is left finishes before Lambda ends the function. */
const HANDOVER_MS = 120_000

/**
 * The sweep: of one scope that was asked for, or on schedule of all. Before Lambda's time ends it has itself called for
 * the rest. What fails is thrown at the end, so that Lambda counts it.
 */
export function createHandler(config: SweepHandlerConfig, telemetry: SweepTelemetry) {
  return async (event: SweepEvent, context: RemainingTime): Promise<void> => {
    let isUp = false
    const timeIsUp = () => {
      isUp ||= context.getRemainingTimeInMillis() < HANDOVER_MS
      return isUp
    }
    if (event.one) {
      const { scope } = event.one
      const { report, rest } = await runScopeSweep(config, event.one, timeIsUp).catch((error: unknown) => {
        telemetry.failed(scope, error)
        throw error
      })
      if (rest) await config.startSweep({ one: rest })
      else telemetry.finished(report)
      return
    }
    const { reports, failures, rest } = await runAllSweeps(config, event.all ?? {}, timeIsUp)
    for (const report of reports) telemetry.finished(report)
    for (const { scope, cause } of failures) telemetry.failed(scope, cause)
    if (rest) await config.startSweep({ all: rest })
    if (failures.length > 0) {
      const causes = failures.map(({ cause }) => cause)
      throw new AggregateError(causes, `${failures.length} scopes could not be swept.`)
    }
  }
}
