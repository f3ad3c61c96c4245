import type { SweepHandlerConfig } from '../lambdas/shared/sweep-config.ts'
import { createHandler } from '../lambdas/sweep/handler.ts'
import type { SweepEvent } from '../src/sweep/run.ts'

export interface BackgroundSweepsOptions {
  config: Omit<SweepHandlerConfig, 'startSweep'>
  /** How long one call of the function may run. */
  timeoutMs: number
  onError: (error: unknown) => void
}

/** Calls of the sweep function in this process, which nobody waits for but `stop`. */
export class BackgroundSweeps {
  readonly #options: BackgroundSweepsOptions
  readonly #running = new Set<Promise<void>>()
  #stopping = false

  constructor(options: BackgroundSweepsOptions) {
    this.#options = options
  }

  readonly start = async (event: SweepEvent): Promise<void> => {
    // What is left to do goes with a sweep after the next start.
    if (this.#stopping) return
    const running = this.#run(event).catch(this.#options.onError)
    this.#running.add(running)
    void running.finally(() => this.#running.delete(running))
  }

  /** Has what runs hand over, and waits for it. */
  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#running)
  }

  async #run(event: SweepEvent): Promise<void> {
    const { config, timeoutMs } = this.#options
    const deadline = Date.now() + timeoutMs
    // The report tells all; errors are thrown as well.
    const telemetry = { finished: () => undefined, failed: () => undefined }
    const handler = createHandler({ ...config, startSweep: this.start }, telemetry)
    await handler(structuredClone(event), {
      getRemainingTimeInMillis: () => (this.#stopping ? 0 : Math.max(0, deadline - Date.now())),
    })
  }
}
