import type { Rules } from './rules.ts'
import { currentVersion, keysOf, referencesOf, type State, type Step } from './state.ts'
import { deleteEntry, sweeperSteps } from './sweeper.ts'
import { writerSteps } from './writers.ts'

/** Everything that can happen next. */
export function nextSteps(state: State, rules: Rules): Step[] {
  return [
    ...state.writers.flatMap((_, index) => writerSteps(state, index, rules)),
    ...state.sweepers.flatMap((_, index) => sweeperSteps(state, index, rules)),
    ...arrival(state, rules),
  ]
}

/** What a live checkpoint refers to and the bucket does not hold; undefined when all is well. */
export function lostKey(state: State): string | undefined {
  for (const [index, thread] of state.threads.entries()) {
    for (const key of keysOf(referencesOf(thread))) {
      if (currentVersion(state, key) === undefined) return `thread ${index} refers to key ${key}, which is gone`
    }
  }
  return undefined
}

function arrival(state: State, rules: Rules): Step[] {
  if (!state.delayed) return []
  const { key, version } = state.delayed
  const label = `the delayed delete of version ${version} of key ${key} arrives`
  return [{ label, state: { ...deleteEntry(state, state.delayed, rules), delayed: undefined } }]
}
