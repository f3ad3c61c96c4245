import { leaseEnded, type SeenLease } from '../../../src/sweep/protocol.ts'
import { type Entry, leaseOf, type Page, type State, type Sweeper, type Writer } from './state.ts'

/**
 * A text that two states share only if the same can happen after both. Names do not count, nor which sweeper is which,
 * nor what cannot matter any more: of leases that have ended, versions that are gone, the work on pages that are gone.
 */
export function encode(state: State): string {
  const pages = state.pages.map((page) => ({ page, text: encodePage(state, page) }))
  if (pages.length > 1) pages.sort((left, right) => (left.text < right.text ? -1 : 1))
  const places = pages.map(({ page }) => page)
  return [
    state.bucket.map(({ length }) => length).join(),
    pages.map(({ text }) => text).join('/'),
    state.threads.map(({ owner, checkpoints }) => `${owner}:${checkpoints.map(({ keys }) => keys).join()}`).join('/'),
    state.writers.map((writer) => encodeWriter(state, writer)).join('/'),
    state.sweepers
      .map((sweeper) => encodeSweeper(state, sweeper, places))
      .sort()
      .join('/'),
    encodeEntries(state, state.delayed && [state.delayed]),
  ].join('|')
}

function encodePage(state: State, { entries, note, doomed }: Page): string {
  // Once it is decided what goes, the rest only says which keys are condemned.
  const rest = doomed ? keySet(entries) : encodeEntries(state, entries)
  return `${rest}:${encodeLeases(state, note)}:${encodeEntries(state, doomed)}`
}

function encodeWriter(state: State, { task, at, base, keys, condemned, unseen, missing }: Writer): string {
  if (at === 'start' || at === 'end') return at
  const thread = state.threads[task.kind === 'fork' ? task.source : task.thread]
  const based = base === 0 ? 'none' : thread?.checkpoints.findIndex(({ sequence }) => sequence === base)
  return `${at} ${based} ${keys} ${condemned} ${unseen} ${missing}`
}

function encodeSweeper(state: State, sweeper: Sweeper, pages: readonly Page[]): string {
  const { at, thread, references, leases, entries, page: id } = sweeper
  if (at === 'idle') return at
  const place = pages.findIndex((page) => page.id === id)
  // What is decided is carried out by whoever takes the page up.
  const settled = id !== undefined && (place === -1 || pages[place]?.doomed !== undefined)
  if (settled && at !== 'delete' && (at !== 'remove' || place === -1)) return 'idle'
  return `${at} ${thread} ${references} ${place}:${encodeLeases(state, leases)}:${encodeEntries(state, entries)}`
}

function keySet(entries: readonly Entry[]): string {
  return [...new Set(entries.map(({ key }) => key))].join()
}

function encodeEntries(state: State, entries: readonly Entry[] | undefined): string {
  if (!entries) return '-'
  const texts = entries.map(({ key, version, current }) => {
    const age = state.bucket[key]?.indexOf(version) ?? -1
    return `${key}.${age}.${age === -1 || current}`
  })
  return texts.length > 1 ? [...new Set(texts)].sort().join() : (texts[0] ?? '')
}

function encodeLeases({ threads }: State, leases: readonly SeenLease[] | undefined): string {
  if (!leases) return '-'
  return leases
    .filter((lease) => !leaseEnded(lease, leaseOf(threads[Number(lease.threadHash)])))
    .map(({ threadHash }) => threadHash)
    .join()
}
