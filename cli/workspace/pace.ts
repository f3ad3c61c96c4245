/**
 * A small file takes a hundredth of this on a local disk, some tenths on one that is hard at work, for which more
 * threads do no good; and more than this where each call goes over a network and waits.
 */
const SLOW_MS = 2
/** How much the last one counts. */
const WEIGHT = 0.1

/** How long the file system takes for one file. */
export class Pace {
  #averageMs = 0

  /** Whether it is worth the thread pool. Once it is, it stays so. */
  get isSlow(): boolean {
    return this.#averageMs > SLOW_MS
  }

  note(ms: number): void {
    // One that was held up by something else is not the pace.
    this.#averageMs += WEIGHT * (Math.min(ms, 4 * SLOW_MS) - this.#averageMs)
  }
}
