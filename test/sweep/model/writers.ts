import { isPresent, uploadReplaces } from '../../../src/sweep/protocol.ts'
import type { Rules } from './rules.ts'
import {
  change,
  changeThread,
  currentVersion,
  ended,
  has,
  keysOf,
  type State,
  type Step,
  type Task,
  type Thread,
  upload,
  type Writer,
} from './state.ts'

/**
 * The next steps of a writer. One that takes none any more has crashed. Its clock may be behind by any time: to itself
 * its lease is live for as long as it is on the thread, while to all others it may be past its end.
 */
export function writerSteps(state: State, index: number, rules: Rules): Step[] {
  const writer = state.writers[index]
  const thread = state.threads[writer?.task.thread ?? -1]
  if (!writer || !thread || writer.at === 'end') return []
  return new WriterSteps({ state, index, writer, thread, rules }).next()
}

class WriterSteps {
  readonly #state: State
  readonly #index: number
  readonly #writer: Writer
  readonly #task: Task
  readonly #thread: Thread
  readonly #rules: Rules

  constructor(input: { state: State; index: number; writer: Writer; thread: Thread; rules: Rules }) {
    this.#state = input.state
    this.#index = input.index
    this.#writer = input.writer
    this.#task = input.writer.task
    this.#thread = input.thread
    this.#rules = input.rules
  }

  next(): Step[] {
    switch (this.#writer.at) {
      case 'start':
        return [this.#acquire()]
      case 'source':
        return this.#readSource()
      case 'pages':
        return this.#readPages()
      case 'bucket':
        return keysOf(this.#writer.unseen).map((key) => this.#look(key))
      case 'upload':
        return keysOf(this.#writer.missing).map((key) => this.#upload(key))
      case 'commit':
        return [this.#commit()]
      case 'end':
        return []
    }
  }

  /** A lease that is there has expired, then. */
  #acquire(): Step {
    const { fence, checkpoints } = this.#thread
    const head = checkpoints.at(-1)
    const inherited = this.#task.kind === 'capture' && this.#task.inherits ? (head?.keys ?? 0) : 0
    const first = { capture: 'pages', fork: 'source', deleteHead: 'commit', prune: 'commit' } as const
    return this.#step(
      'takes the lease',
      { at: first[this.#task.kind], fence: fence + 1, base: head?.sequence ?? 0, keys: inherited },
      changeThread(this.#state, this.#task.thread, { owner: this.#index, fence: fence + 1 }),
    )
  }

  #readSource(): Step[] {
    const source = this.#task.kind === 'fork' ? this.#state.threads[this.#task.source]?.checkpoints.at(-1) : undefined
    if (!source) return [this.#step('finds no source', { at: 'end' })]
    return [this.#step('reads the source', { at: 'pages', base: source.sequence, keys: source.keys })]
  }

  #readPages(): Step[] {
    const { kind } = this.#task
    const asked = kind === 'capture' ? this.#task.asks : this.#writer.keys
    const reads = kind === 'fork' ? this.#rules.forkReadsPages : this.#rules.askReadsPages
    const listed = this.#state.pages.flatMap(({ entries }) => entries).reduce((mask, { key }) => mask | (1 << key), 0)
    const condemned = reads ? asked & listed : 0
    const label = `reads the pages: of its keys ${keysOf(condemned).join(', ') || 'none'} condemned`
    if (kind === 'fork')
      return [this.#step(label, { at: condemned ? 'upload' : 'commit', condemned, missing: condemned })]
    // Out of order: what the bucket held was read before.
    if (!this.#rules.pagesBeforeBucket) {
      const missing = this.#writer.missing | condemned
      return [
        this.#step(label, { at: missing ? 'upload' : 'commit', condemned, missing, keys: this.#writer.keys | asked }),
      ]
    }
    return [this.#step(label, { at: 'bucket', condemned, unseen: asked, keys: this.#writer.keys | asked })]
  }

  #look(key: number): Step {
    const stored = currentVersion(this.#state, key) !== undefined
    const present = isPresent(stored, has(this.#writer.condemned, key))
    const unseen = this.#writer.unseen & ~(1 << key)
    const missing = present ? this.#writer.missing : this.#writer.missing | (1 << key)
    const at = unseen ? 'bucket' : this.#afterLook(missing)
    return this.#step(`is told that key ${key} is ${present ? 'there' : 'missing'}`, { at, unseen, missing })
  }

  #afterLook(missing: number): Writer['at'] {
    if (!this.#rules.pagesBeforeBucket) return 'pages'
    return missing ? 'upload' : 'commit'
  }

  #upload(key: number): Step {
    const { condemned, missing } = this.#writer
    const left = missing & ~(1 << key)
    const at = left ? 'upload' : 'commit'
    const stored = currentVersion(this.#state, key) !== undefined
    if (this.#task.kind === 'fork') {
      if (!stored) return this.#step(`finds no key ${key} to copy`, { at: 'end' })
      return this.#step(`copies key ${key}`, { at, missing: left }, upload(this.#state, key))
    }
    const replaces = this.#rules.condemnedIsReplaced && uploadReplaces(has(condemned, key))
    if (stored && !replaces) return this.#step(`uploads key ${key}, which is there already`, { at, missing: left })
    return this.#step(`uploads key ${key}`, { at, missing: left }, upload(this.#state, key))
  }

  #commit(): Step {
    const committed = this.#holdsLease() ? this.#committed() : undefined
    if (!committed) return this.#step('is refused', { at: 'end' })
    return this.#step('commits', { at: 'end' }, committed)
  }

  #committed(): State | undefined {
    const { thread } = this.#task
    const { checkpoints, sequence } = this.#thread
    const { base, keys } = this.#writer
    const add = (): State =>
      changeThread(this.#state, thread, {
        sequence: sequence + 1,
        checkpoints: [...checkpoints, { sequence: sequence + 1, keys }],
      })
    switch (this.#task.kind) {
      case 'capture':
        return (checkpoints.at(-1)?.sequence ?? 0) === base ? add() : undefined
      case 'fork': {
        const source = this.#state.threads[this.#task.source]
        const live = source?.checkpoints.some((checkpoint) => checkpoint.sequence === base)
        return live && checkpoints.length === 0 ? add() : undefined
      }
      case 'deleteHead':
        return changeThread(this.#state, thread, { checkpoints: checkpoints.slice(0, -1) })
      case 'prune':
        return changeThread(this.#state, thread, { checkpoints: checkpoints.slice(-1) })
    }
  }

  #holdsLease(): boolean {
    return this.#thread.owner === this.#index && this.#thread.fence === this.#writer.fence
  }

  /** Gives the lease back at the end. One that stays only makes sweepers wait until they take it off. */
  #step(what: string, changes: Partial<Writer>, state: State = this.#state): Step {
    const end = changes.at === 'end'
    const left = end && this.#holdsLease() ? changeThread(state, this.#task.thread, { owner: undefined }) : state
    const writers = change(state.writers, this.#index, (writer) => (end ? ended(writer) : { ...writer, ...changes }))
    const { kind, thread } = this.#task
    return { label: `writer ${this.#index} (${kind} on thread ${thread}) ${what}`, state: { ...left, writers } }
  }
}
