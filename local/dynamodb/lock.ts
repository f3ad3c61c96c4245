/**
 * Lets readers run together and writers alone, in the order in which they came: a waiting writer holds back the readers
 * behind it, so neither side can starve the other.
 */
export class ReadWriteLock {
  #readers = 0
  #writing = false
  readonly #waiting: { writes: boolean; start: () => void }[] = []

  /** Runs `work` while no writer runs. */
  async read<T>(work: () => Promise<T>): Promise<T> {
    if (this.#writing || this.#waiting.length > 0) await this.#turn(false)
    else this.#readers++
    try {
      return await work()
    } finally {
      this.#readers--
      this.#startNext()
    }
  }

  /** Runs `work` while nothing else runs. */
  async write<T>(work: () => Promise<T>): Promise<T> {
    if (this.#writing || this.#readers > 0 || this.#waiting.length > 0) await this.#turn(true)
    else this.#writing = true
    try {
      return await work()
    } finally {
      this.#writing = false
      this.#startNext()
    }
  }

  #turn(writes: boolean): Promise<void> {
    return new Promise((start) => {
      this.#waiting.push({ writes, start })
    })
  }

  #startNext(): void {
    for (;;) {
      const next = this.#waiting[0]
      if (!next || this.#writing || (next.writes && this.#readers > 0)) return
      this.#waiting.shift()
      if (next.writes) this.#writing = true
      else this.#readers++
      next.start()
    }
  }
}
