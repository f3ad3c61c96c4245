/** Runs one task at a time for each name, in the order they came. */
export class Locks {
  private readonly tails = new Map<string, Promise<unknown>>()

  async run<T>(name: string, task: () => Promise<T>): Promise<T> {
    const before = this.tails.get(name)
    const result = before ? before.then(task, task) : task()
    this.tails.set(name, result)
    try {
      return await result
    } finally {
      if (this.tails.get(name) === result) this.tails.delete(name)
    }
  }
}
