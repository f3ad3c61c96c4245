import { describe, expect, test } from 'vitest'
import { encode } from './encode.ts'
import { type Explored, explore } from './explore.ts'
import { crashed, leftAfterSweeps } from './progress.ts'
import { PROTOCOL, type Rules } from './rules.ts'
import { initialState, type Scenario, type State, type Task } from './state.ts'
import { lostKey, nextSteps } from './system.ts'

const K0 = 1
const BOTH = 3
const CAPTURE: Task = { kind: 'capture', thread: 0, asks: K0, inherits: false }
const CAPTURE_ON_HEAD: Task = { kind: 'capture', thread: 1, asks: 0, inherits: true }
const FORK: Task = { kind: 'fork', thread: 0, source: 1 }
const DELETE_HEAD: Task = { kind: 'deleteHead', thread: 1 }
const PRUNE: Task = { kind: 'prune', thread: 1 }

// Threads are read in their order: what passes from the last to the first in between is what a sweeper may miss.
const UNUSED_KEY = { stored: K0, keys: 1, threads: [[], []] }
const USED_KEY = { ...UNUSED_KEY, threads: [[], [K0]] }
const PRUNABLE_KEY = { ...UNUSED_KEY, threads: [[], [K0, 0]] }
const ONE_SWEEPER = { sweepers: 1, bounds: { pages: 2, delayed: 1, staleReferences: true } } as const
const TWO_SWEEPERS = { sweepers: 2, bounds: { pages: 1, delayed: 0, staleReferences: true } } as const
const ONE_PAGE = { sweepers: 1, bounds: TWO_SWEEPERS.bounds } as const

function check(scenario: Scenario, rules: Rules, wrong: (state: State) => string | undefined): Explored {
  const initial = initialState(scenario)
  return explore({ initial, next: (state) => nextSteps(state, rules), encode, wrong, maxStates: 1_000_000 })
}

/** What is lost, or would stay for ever: every state is also one in which all processes crash. */
function faults(rules: Rules): (state: State) => string | undefined {
  const swept = new Map<string, string | undefined>()
  return (state) => {
    const rest = crashed(state)
    const text = encode(rest)
    if (!swept.has(text)) swept.set(text, leftAfterSweeps(rest, rules))
    return lostKey(state) ?? swept.get(text)
  }
}

describe('no reachable state has lost a key, and from each two sweeps leave nothing unused', () => {
  test.each<[string, Scenario]>([
    ['two sweepers, a capture, a deleted head', { ...USED_KEY, ...TWO_SWEEPERS, tasks: [DELETE_HEAD, CAPTURE] }],
    ['two sweepers, a fork, a deleted head', { ...USED_KEY, ...TWO_SWEEPERS, tasks: [DELETE_HEAD, FORK] }],
    [
      'a delayed delete, a fork to a later thread, a deleted head',
      {
        ...USED_KEY,
        ...ONE_SWEEPER,
        threads: [[K0], []],
        tasks: [
          { ...DELETE_HEAD, thread: 0 },
          { kind: 'fork', thread: 1, source: 0 },
        ],
      },
    ],
    ['a delayed delete, a capture, a deleted head', { ...USED_KEY, ...ONE_SWEEPER, tasks: [DELETE_HEAD, CAPTURE] }],
    ['a delayed delete, a fork, a deleted head', { ...USED_KEY, ...ONE_SWEEPER, tasks: [DELETE_HEAD, FORK] }],
    ['a delayed delete, a capture, a prune', { ...PRUNABLE_KEY, ...ONE_SWEEPER, tasks: [PRUNE, CAPTURE] }],
    [
      'two captures, a fork, a deleted head',
      { ...USED_KEY, ...ONE_PAGE, tasks: [DELETE_HEAD, CAPTURE_ON_HEAD, FORK, CAPTURE] },
    ],
    [
      'a capture that asks for two keys, a deleted head',
      { ...USED_KEY, ...ONE_PAGE, stored: BOTH, keys: 2, tasks: [DELETE_HEAD, { ...CAPTURE, asks: BOTH }] },
    ],
  ])('%s', (name, scenario) => {
    const { states, steps, counterexample } = check(scenario, PROTOCOL, faults(PROTOCOL))
    console.info(`${name}: ${states} states, ${steps} steps`)
    expect(counterexample).toBeUndefined()
  })
})

describe('a protocol with one rule broken loses a key', () => {
  const capture = { ...UNUSED_KEY, ...ONE_SWEEPER, tasks: [CAPTURE] }
  test.each<[string, keyof Rules, Scenario]>([
    ['the grace is left out', 'grace', capture],
    ['a page without a note is deleted', 'noteNeeded', capture],
    ['leases are noted before the page is written', 'noteAfterPage', capture],
    ['a lease past its end counts as ended', 'expiredIsTakenOff', capture],
    ['the references that condemn decide too', 'referencesAfterGrace', capture],
    ['asks ignore the pages', 'askReadsPages', capture],
    ['asks look into the bucket before they read the pages', 'pagesBeforeBucket', capture],
    ['an upload keeps a condemned version', 'condemnedIsReplaced', capture],
    ['deletes name keys', 'deleteByVersion', capture],
    ['a fork ignores the pages', 'forkReadsPages', { ...USED_KEY, ...ONE_SWEEPER, tasks: [DELETE_HEAD, FORK] }],
    ['each sweeper decides for itself', 'oneDecision', { ...USED_KEY, ...TWO_SWEEPERS, tasks: [DELETE_HEAD, CAPTURE] }],
  ])('%s', (name, rule, scenario) => {
    const { states, counterexample } = check(scenario, { ...PROTOCOL, [rule]: false }, lostKey)
    console.info([`${name}: ${states} states`, ...(counterexample ?? [])].join('\n  '))
    expect(counterexample?.at(-1)).toMatch(/^thread \d refers to key 0, which is gone$/)
  })
})
