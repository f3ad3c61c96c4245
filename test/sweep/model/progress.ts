import type { Rules } from './rules.ts'
import { has, IDLE, referencesOf, type State } from './state.ts'
import { sweeperSteps } from './sweeper.ts'

const SWEEPS = 2
/** More than two sweeps of the small states here can take. */
const MAX_STEPS = 200

/**
 * Whether two sweeps by one sweeper, all others having crashed in this state, leave no unused version and no page.
 * @returns what is left, undefined for nothing
 */
export function leftAfterSweeps(from: State, rules: Rules): string | undefined {
  let state = crashed(from)
  let sweeps = 0
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const idle = state.sweepers[0]?.at === 'idle'
    if (idle && state.pages.length === 0) {
      if (sweeps === SWEEPS) return unused(state)
      sweeps += 1
    }
    // What is condemned already is finished first, and everything that is listed is old.
    const [step] = sweeperSteps(state, 0, rules)
    // Nothing is there to be condemned, or to be done about it.
    if (!step) return state.pages.length === 0 ? unused(state) : 'the sweeper is stuck'
    state = step.state
  }
  return 'the sweeper does not come to an end'
}

/** What is left of a state when every process has crashed and all leases have expired. */
export function crashed(state: State): State {
  return {
    ...state,
    writers: [],
    sweepers: [IDLE],
    delayed: undefined,
    bounds: { ...state.bounds, staleReferences: false },
  }
}

function unused({ bucket, threads }: State): string | undefined {
  const references = threads.reduce((mask, thread) => mask | referencesOf(thread), 0)
  const key = bucket.findIndex((versions, index) => versions.length > (has(references, index) ? 1 : 0))
  return key === -1 ? undefined : `unused versions of key ${key} are left`
}
