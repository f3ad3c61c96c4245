import { createHandler } from '../lambdas/bundles/handler.ts'
import type { SandboxHandlerConfig } from '../lambdas/sandboxes/config.ts'
import type { BundlesEvent } from '../lambdas/shared/bundles-config.ts'

export interface BackgroundBundlesOptions {
  config: SandboxHandlerConfig
  /** How long one call of the function may run. */
  timeoutMs: number
  onError: (error: unknown) => void
}

/** Calls of the bundles function in this process, one after the other, which nobody waits for but `stop`. */
export class BackgroundBundles {
  readonly #options: BackgroundBundlesOptions
  #last: Promise<void> = Promise.resolve()
  #stopping = false

  constructor(options: BackgroundBundlesOptions) {
    this.#options = options
  }

  readonly request = async (event: BundlesEvent): Promise<void> => {
    const copy = structuredClone(event)
    this.#last = this.#last.then(() => this.#run(copy)).catch(this.#options.onError)
  }

  /** Has the build under way come to an end, and waits for it. */
  async stop(): Promise<void> {
    this.#stopping = true
    await this.#last
  }

  async #run(event: BundlesEvent): Promise<void> {
    if (this.#stopping) return
    const { config, timeoutMs } = this.#options
    const deadline = Date.now() + timeoutMs
    await createHandler(config)(event, {
      getRemainingTimeInMillis: () => (this.#stopping ? 0 : Math.max(0, deadline - Date.now())),
    })
  }
}
