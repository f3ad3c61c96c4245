import { hash } from 'node:crypto'

export interface Exploration<State> {
  initial: State
  next: (state: State) => Array<{ label: string; state: State }>
  /** Equal for equal states only. */
  encode: (state: State) => string
  /** What is wrong with a state; undefined for nothing. */
  wrong: (state: State) => string | undefined
  /** The search gives up beyond so many states. */
  maxStates: number
}

export interface Explored {
  states: number
  steps: number
  /** The shortest way to a wrong state, and what is wrong with it. */
  counterexample: string[] | undefined
}

/**
 * Searches all reachable states breadth first. Those that were seen are kept by their digests.
 * @throws Error beyond maxStates
 */
export function explore<State>({ initial, next, encode, wrong, maxStates }: Exploration<State>): Explored {
  const seen = new Set<string>()
  const parents: number[] = []
  const labels: string[] = []
  let steps = 0

  const wayTo = (index: number): string[] => {
    const way: string[] = []
    for (let at = index; at > 0; at = parents[at] ?? 0) way.push(labels[at] ?? '')
    return way.reverse()
  }
  /** The new state's number; undefined for one that was seen before. */
  const add = (state: State, parent: number, label: string): number | undefined => {
    const digest = hash('sha1', encode(state), 'base64')
    if (seen.has(digest)) return undefined
    seen.add(digest)
    if (seen.size > maxStates) throw new Error(`There are more than ${maxStates} states.`)
    parents.push(parent)
    labels.push(label)
    return seen.size - 1
  }

  add(initial, 0, '')
  let frontier = [{ index: 0, state: initial }]
  while (frontier.length > 0) {
    const reached: typeof frontier = []
    for (const { index, state } of frontier) {
      const fault = wrong(state)
      if (fault !== undefined) return { states: seen.size, steps, counterexample: [...wayTo(index), fault] }
      for (const step of next(state)) {
        steps += 1
        const added = add(step.state, index, step.label)
        if (added !== undefined) reached.push({ index: added, state: step.state })
      }
    }
    frontier = reached
  }
  return { states: seen.size, steps, counterexample: undefined }
}
