import { runSweep, type SweepReport } from '../../src/sweep/run.ts'
import type { HandlerConfig } from '../shared/config.ts'

/** The scheduled sweep. What fails in it is thrown, so that Lambda logs it and counts it. */
export function createHandler(config: HandlerConfig): () => Promise<SweepReport> {
  return async () => {
    const report = await runSweep(config)
    console.log(JSON.stringify({ level: 'INFO', message: 'The sweep is done.', ...report }))
    return report
  }
}
