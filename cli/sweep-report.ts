import { setTimeout as sleep } from 'node:timers/promises'
import type { SweepReport } from '../src/sweep/report.ts'
import type { SweepService } from '../src/sweep/service.ts'
import { RefusedError } from './errors.ts'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000
/** One call of the sweep function ends within 15 minutes, and reports at its end at the latest. */
const SILENCE_MS = 1_200_000

export interface AwaitReportInput {
  sweeps: Pick<SweepService, 'list'>
  sweepId: string
  signal: AbortSignal
  /** Told of each report while the sweep runs. */
  onProgress: (report: SweepReport) => void
  now?: () => number
  pause?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

/**
 * The report of a sweep once it is over.
 * @throws RefusedError when nothing was heard of it for 20 minutes; the signal's reason
 */
export async function awaitReport(input: AwaitReportInput): Promise<SweepReport> {
  const { sweeps, sweepId, signal, onProgress, now = Date.now, pause = sleepUntilAborted } = input
  let heardAt = now()
  let last = ''
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    const report = (await sweeps.list()).find(({ id }) => id === sweepId)
    if (report && report.state !== 'running') return report
    const heard = JSON.stringify(report ?? null)
    if (heard !== last) heardAt = now()
    last = heard
    if (report) onProgress(report)
    if (now() - heardAt > SILENCE_MS) {
      throw new RefusedError(
        `Nothing was heard of the sweep ${sweepId} for 20 minutes. The logs of the sweep function say why; the next sweep goes on where it was.`,
      )
    }
    await pause(pauseMs, signal)
  }
}

async function sleepUntilAborted(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error
  })
}
