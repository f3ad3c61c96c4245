import { runAllSweeps, runScopeSweep, type SweepEvent } from '../../src/sweep/run.ts'
import type { SweepHandlerConfig } from '../shared/sweep-config.ts'

/** What the function asks of the clock that ends it. */
export interface RemainingTime {
  getRemainingTimeInMillis(): number
}

/** What is under way when this is left finishes before Lambda ends the function. */
const HANDOVER_MS = 120_000

/**
 * The sweep: of one scope that was asked for, or on schedule of all. Before Lambda's time ends it has itself called for
 * the rest. What fails is thrown at the end, so that Lambda logs it and counts it.
 */
export function createHandler(config: SweepHandlerConfig) {
  return async (event: SweepEvent, context: RemainingTime): Promise<void> => {
    const timeIsUp = () => context.getRemainingTimeInMillis() < HANDOVER_MS
    if (event.one) {
      const { report, rest } = await runScopeSweep(config, event.one, timeIsUp)
      console.log(JSON.stringify({ level: 'INFO', message: 'A sweep ran.', scope: event.one.scope, ...report }))
      if (rest) await config.startSweep({ one: rest })
      return
    }
    const { reports, failures, rest } = await runAllSweeps(config, event.all ?? {}, timeIsUp)
    console.log(JSON.stringify({ level: 'INFO', message: 'The sweeps ran.', scopes: reports.length }))
    if (rest) await config.startSweep({ all: rest })
    if (failures.length > 0)
      throw new AggregateError(
        failures.map(({ cause }) => cause),
        'Scopes could not be swept.',
      )
  }
}
