/** What has work done later. Each returns what calls it off. */
export interface Timers {
  every(milliseconds: number, work: () => void): () => void
  after(milliseconds: number, work: () => void): () => void
}

/** The longest that a timer of the runtime takes. */
const MAX_MS = 2_147_483_647

export const systemTimers: Timers = {
  every(milliseconds, work) {
    const timer = setInterval(work, Math.min(milliseconds, MAX_MS))
    return () => clearInterval(timer)
  },
  after(milliseconds, work) {
    const timer = setTimeout(work, Math.min(milliseconds, MAX_MS))
    return () => clearTimeout(timer)
  },
}
