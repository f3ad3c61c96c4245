import { condemns, deletes, leaseEnded, type SeenLease } from '../../../src/sweep/protocol.ts'
import type { Rules } from './rules.ts'
import {
  change,
  changeThread,
  type Entry,
  has,
  IDLE,
  leaseOf,
  type Page,
  referencesOf,
  type State,
  type Step,
  type Sweeper,
} from './state.ts'

/**
 * The next steps of a sweeper: alternatives where the order or the time is not given. A crash that leaves nothing behind
 * is a sweeper that never began; the others are among the steps.
 */
export function sweeperSteps(state: State, index: number, rules: Rules): Step[] {
  const sweeper = state.sweepers[index]
  return sweeper ? new SweeperSteps({ state, index, sweeper, rules }).next() : []
}

/** Deletes what the entry names, if it is there. */
export function deleteEntry(state: State, { key, version }: Entry, rules: Rules): State {
  return {
    ...state,
    bucket: change(state.bucket, key, (versions) =>
      rules.deleteByVersion ? versions.filter((other) => other !== version) : [],
    ),
  }
}

class SweeperSteps {
  readonly #state: State
  readonly #index: number
  readonly #sweeper: Sweeper
  readonly #rules: Rules

  constructor(input: { state: State; index: number; sweeper: Sweeper; rules: Rules }) {
    this.#state = input.state
    this.#index = input.index
    this.#sweeper = input.sweeper
    this.#rules = input.rules
  }

  next(): Step[] {
    switch (this.#sweeper.at) {
      case 'idle':
        return [...this.#state.pages.flatMap((page) => this.#takeUp(page)), ...this.#beginCondemning()]
      case 'list':
        return this.#list()
      case 'write':
        return [this.#writePage()]
      case 'note':
        return [this.#readLease()]
      case 'setNote':
        return [this.#setNote()]
      case 'references':
        return [this.#readReferences()]
      case 'decide':
        return [this.#decide()]
      case 'delete':
        return this.#sweeper.entries.flatMap((entry) => this.#delete(entry))
      case 'remove':
        return [this.#removePage()]
    }
  }

  /** The first step of some work. That it was chosen is none of its own. */
  #begin(work: Partial<Sweeper>): Step[] {
    const sweeper = { ...IDLE, ...work }
    return new SweeperSteps({ state: this.#state, index: this.#index, sweeper, rules: this.#rules }).next()
  }

  #beginCondemning(): Step[] {
    if (this.#state.pages.length >= this.#state.bounds.pages) return []
    if (this.#rules.noteAfterPage) return this.#list()
    return this.#begin({ at: 'note' })
  }

  #takeUp(page: Page): Step[] {
    const { id, note, doomed } = page
    if (doomed) return [this.#goOn(page, doomed)]
    if (!note && this.#rules.noteNeeded) return this.#begin({ at: 'note', page: id })
    const { threads } = this.#state
    const waitsFor = (note ?? []).filter((lease) => !leaseEnded(lease, leaseOf(threads[Number(lease.threadHash)])))
    // Each of them may have expired by now.
    if (waitsFor.length > 0 && this.#rules.grace && this.#rules.expiredIsTakenOff) {
      return waitsFor.map((lease) => this.#takeOff(lease))
    }
    if (!this.#rules.referencesAfterGrace) return [this.#goOn(page, page.entries)]
    return this.#begin({ at: 'references', page: id })
  }

  #takeOff({ threadHash }: SeenLease): Step {
    const index = Number(threadHash)
    const state = changeThread(this.#state, index, { owner: undefined })
    return this.#step(`takes the lease, which has expired, off thread ${index}`, {}, state)
  }

  /** One thread at a time: others go on in between. */
  #readReferences(): Step {
    const { thread: index } = this.#sweeper
    const thread = this.#state.threads[index]
    const references = this.#sweeper.references | (thread ? referencesOf(thread) : 0)
    const last = index + 1 >= this.#state.threads.length
    return this.#step(`reads the references of thread ${index}, for page ${this.#sweeper.page}`, {
      at: last ? 'decide' : 'references',
      thread: last ? 0 : index + 1,
      references,
    })
  }

  #readLease(): Step {
    const { thread: index, leases, page } = this.#sweeper
    const thread = this.#state.threads[index]
    const seen = thread?.owner === undefined ? leases : [...leases, { threadHash: String(index), fence: thread.fence }]
    const last = index + 1 >= this.#state.threads.length
    const next = page === undefined ? 'list' : 'setNote'
    return this.#step(`looks for a lease of thread ${index}${page === undefined ? '' : `, for page ${page}`}`, {
      at: last ? next : 'note',
      thread: last ? 0 : index + 1,
      leases: seen,
    })
  }

  /** Lists what was uploaded before a time: that of now, or that of the newest upload. */
  #list(): Step[] {
    const { bucket, threads, uploads, bounds } = this.#state
    const now = threads.reduce((mask, thread) => mask | referencesOf(thread), 0)
    const stale = bounds.staleReferences && this.#rules.referencesAfterGrace
    const references = stale ? Array.from({ length: 1 << bucket.length }, (_, mask) => mask) : [now]
    return [uploads + 1, Math.max(...bucket.flat())].flatMap((before) =>
      references.flatMap((mask) => this.#listed(before, mask)),
    )
  }

  #listed(before: number, references: number): Step[] {
    const entries = this.#state.bucket.flatMap((versions, key) =>
      versions
        .map((version) => ({ key, version, current: version === versions.at(-1) }))
        .filter(({ version, current }) => condemns({ uploadedAt: version, current }, has(references, key), before)),
    )
    return entries.length === 0 ? [] : [this.#step(`lists ${text(entries)}`, { at: 'write', entries })]
  }

  #writePage(): Step {
    const { entries, leases } = this.#sweeper
    const used = [...this.#state.pages.map(({ id }) => id), ...this.#state.sweepers.map(({ page }) => page)]
    let id = 0
    while (used.includes(id)) id += 1
    const note = this.#rules.noteAfterPage ? undefined : leases
    const pages = [...this.#state.pages, { id, entries, note, doomed: undefined }]
    return this.#idle(`writes page ${id}: ${text(entries)}`, { ...this.#state, pages })
  }

  #setNote(): Step {
    const { page: id, leases } = this.#sweeper
    const pages = this.#state.pages.map((page) => (page.id === id && !page.doomed ? { ...page, note: leases } : page))
    return this.#idle(`sets the note of page ${id}`, { ...this.#state, pages })
  }

  #decide(): Step {
    const { page: id, references } = this.#sweeper
    const page = this.#state.pages.find((other) => other.id === id)
    if (!page) return this.#idle(`finds that page ${id} is gone`)
    if (page.doomed) return this.#goOn(page, page.doomed)
    return this.#goOn(
      page,
      page.entries.filter((entry) => deletes(entry, has(references, entry.key))),
    )
  }

  #goOn({ id }: Page, doomed: Entry[]): Step {
    const decided = (page: Page): Page => (page.id === id ? { ...page, note: undefined, doomed } : page)
    const state = this.#rules.oneDecision ? { ...this.#state, pages: this.#state.pages.map(decided) } : this.#state
    const at = doomed.length > 0 ? 'delete' : 'remove'
    return this.#step(`decides for page ${id}: ${text(doomed)} goes`, { ...IDLE, at, page: id, entries: doomed }, state)
  }

  #delete(entry: Entry): Step[] {
    const left = this.#sweeper.entries.filter((other) => other !== entry)
    const at = left.length > 0 ? 'delete' : 'remove'
    const done = this.#step(
      `deletes ${text([entry])}`,
      { at, entries: left },
      deleteEntry(this.#state, entry, this.#rules),
    )
    if (this.#state.delayed || this.#state.bounds.delayed === 0) return [done]
    return [done, this.#idle(`sends the delete of ${text([entry])} and crashes`, { ...this.#state, delayed: entry })]
  }

  #removePage(): Step {
    const pages = this.#state.pages.filter(({ id }) => id !== this.#sweeper.page)
    return this.#idle(`removes page ${this.#sweeper.page}`, { ...this.#state, pages })
  }

  #idle(what: string, state: State = this.#state): Step {
    return this.#step(what, IDLE, state)
  }

  #step(what: string, changes: Partial<Sweeper>, state: State = this.#state): Step {
    const sweepers = change(state.sweepers, this.#index, () => ({ ...this.#sweeper, ...changes }))
    return { label: `sweeper ${this.#index} ${what}`, state: { ...state, sweepers } }
  }
}

function text(entries: readonly Entry[]): string {
  return entries.map(({ key, version }) => `version ${version} of key ${key}`).join(', ') || 'nothing'
}
