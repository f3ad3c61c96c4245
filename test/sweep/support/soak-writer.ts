import { setTimeout as sleep } from 'node:timers/promises'
import { createBlobStore } from '../../../src/blobs/store.ts'
import { createCheckpointStore } from '../../../src/checkpoints/store.ts'
import type { SandboxCheckpointWriterLease } from '../../../src/checkpoints/types.ts'
import type { Scope } from '../../../src/tenancy/scope.ts'
import { send } from '../../store/support/send.ts'
import type { Engines } from '../../support/engines.ts'
import type { Clients } from './scope-under-sweep.ts'
import { checkpointOf, keyOf } from './scope-under-sweep.ts'

/** Contents that all writers use again and again, so that blobs come out of use and into it all the time. */
const POOL = 250
const THREADS = 20
const MOST_FILES = 8
const LONG_TEXT = 4_000

export interface SoakWriterOptions {
  engines: Engines
  clients: Clients
  scope: Scope
  leaseDurationMs: number
  random: () => number
  /** The writer's clock. */
  now: () => number
  /** A name that no other writer has. */
  name: string
  /** Threads that forks have begun. */
  threads: Set<string>
  did: (what: 'append' | 'fork' | 'prune' | 'deleteHead') => void
}

/** One session of a capture: a lease, and what is done under it. */
export class SoakWriter {
  readonly #options: SoakWriterOptions
  readonly #checkpoints
  readonly #blobs
  #sequence = 0

  constructor(options: SoakWriterOptions) {
    const { engines, clients, scope, leaseDurationMs, now } = options
    const config = { ...engines, ...clients, scope, leaseDurationMs, renewAfterMs: leaseDurationMs / 3, now }
    this.#options = options
    this.#checkpoints = createCheckpointStore(config)
    this.#blobs = createBlobStore(config)
  }

  async session(): Promise<void> {
    const { threads, random } = this.#options
    const known = [...threads]
    const any = random() < 0.5 ? known[this.#upTo(known.length)] : undefined
    const thread = any ?? `thread-${this.#upTo(THREADS)}`
    const lease = await this.#checkpoints.acquireWriter(thread)
    threads.add(thread)
    const action = random()
    if (action < 0.45) await this.#capture(lease)
    else if (action < 0.6) await this.#prune(lease)
    else if (action < 0.9) await this.#deleteHead(lease)
    else await this.#fork(lease)
    await lease.release()
  }

  /** Asks once for the blobs of some checkpoints, and commits them one after the other. */
  async #capture(lease: SandboxCheckpointWriterLease): Promise<void> {
    const { random } = this.#options
    const texts = [...new Set(Array.from({ length: 1 + this.#upTo(MOST_FILES) }, () => this.#text()))]
    await this.#upload(texts)
    let parent = lease.headId ?? null
    for (let commits = 1 + this.#upTo(3); commits > 0; commits--) {
      if (random() < 0.3) await sleep(random() * 500)
      if (random() < 0.2) await lease.renew()
      const used = texts.filter(() => random() < 0.8)
      const id = this.#newId()
      const checkpoint = {
        ...checkpointOf(lease.threadId, id, used.map(keyOf), parent),
        // Some are too large for the table.
        conversation: random() < 0.3 ? [this.#longText()] : [],
      }
      await this.#checkpoints.append({ checkpoint, expectedHeadId: parent, writer: lease })
      this.#options.did('append')
      parent = id
    }
  }

  async #upload(texts: string[]): Promise<void> {
    if (this.#options.random() < 0.5) {
      for (const text of texts)
        if (!(await this.#blobs.head(keyOf(text)))) await this.#blobs.put(keyOf(text), Buffer.from(text))
      return
    }
    const asked = texts.map((text) => ({ key: keyOf(text), size: Buffer.byteLength(text) }))
    for (const { key, upload } of await this.#blobs.prepareUploads(asked)) {
      const text = texts.find((candidate) => keyOf(candidate) === key) ?? ''
      const { status } = await send(upload, Buffer.from(text))
      if (status !== 200 && status !== 412) throw new Error(`An upload was answered with ${status}.`)
    }
  }

  async #prune(lease: SandboxCheckpointWriterLease): Promise<void> {
    await this.#checkpoints.deleteCheckpoints({ threadId: lease.threadId, keep: 1 + this.#upTo(2), writer: lease })
    this.#options.did('prune')
  }

  async #deleteHead(lease: SandboxCheckpointWriterLease): Promise<void> {
    const { threadId } = lease
    let checkpointId = lease.headId ?? null
    for (let deletes = 1 + this.#upTo(4); checkpointId !== null && deletes > 0; deletes--) {
      await this.#checkpoints.deleteHead({ threadId, checkpointId, writer: lease })
      this.#options.did('deleteHead')
      checkpointId = await this.#checkpoints.getHead(threadId)
    }
  }

  /** Into a new thread; the lease is of the source, and not needed. */
  async #fork({ threadId, headId }: SandboxCheckpointWriterLease): Promise<void> {
    if (typeof headId !== 'string') return
    const destination = `fork-${this.#newId()}`
    const writer = await this.#checkpoints.acquireWriter(destination)
    this.#options.threads.add(destination)
    await this.#checkpoints.forkFromCheckpoint({
      ...{ sourceThreadId: threadId, sourceCheckpointId: headId, destinationThreadId: destination },
      ...{ destinationCheckpointId: this.#newId(), createdAt: 1, writer },
    })
    this.#options.did('fork')
    await writer.release()
  }

  #text(): string {
    return `content ${this.#options.random() < 0.05 ? this.#newId() : this.#upTo(POOL)}`
  }

  #longText(): string {
    const parts = Array.from({ length: LONG_TEXT / 4 }, () => this.#options.random().toString(36).slice(2, 10))
    return parts.join('')
  }

  #newId(): string {
    this.#sequence += 1
    return `${this.#options.name}-${this.#sequence}`
  }

  #upTo(count: number): number {
    return Math.floor(this.#options.random() * count)
  }
}
