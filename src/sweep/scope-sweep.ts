import { setTimeout as sleep } from 'node:timers/promises'
import type { S3Client } from '@aws-sdk/client-s3'
import { blobObjectPrefix, bodyObjectPrefix, stagingObjectPrefix } from '../blobs/object-keys.ts'
import { sweepBundles } from '../bundles/sweep.ts'
import { Bodies } from '../checkpoints/bodies.ts'
import { byThread, readChain } from '../checkpoints/chain.ts'
import { removeUnusedThread } from '../checkpoints/own-thread.ts'
import { META_ATTRIBUTES } from '../checkpoints/read.ts'
import { clearAway } from '../checkpoints/remove.ts'
import { SHARDS, shardPartition, threadKey } from '../table/keys.ts'
import { TABLE } from '../table/schema.ts'
import type { Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'
import { condemnBlobs, condemnBodies, References } from './condemn.ts'
import { forgetNotes, graceIsOver, noteLeases } from './grace.ts'
import { type Condemned, type Page, type PageName, Pages } from './pages.ts'
import { deletes } from './protocol.ts'
import { noCounts, type SweepCounts } from './report.ts'
import { type DeleteFailure, Versions } from './versions.ts'

export interface ScopeSweepInput {
  table: Table
  s3: S3Client
  bucketName: string
  scope: Scope
  /** Milliseconds since the epoch. */
  now: () => number
  /** Only what is older than this goes, strictly. */
  olderThanMs: number
  /** Counts what would be condemned, and changes nothing. */
  dryRun: boolean
  /** How long to wait, at most, for the writer leases that were live when something was condemned. */
  waitMs: number
  /** Where an earlier run ran out of time: the blobs up to this key are condemned. */
  resumeAfter?: string | undefined
  /** Whether to stop, so that a later run goes on. Default: never. */
  timeIsUp?: () => boolean
  /** Counted into as the sweep goes. */
  counts?: SweepCounts
  /** Slots of the set of references: see KeySet. */
  maxSlots?: number
}

export interface ScopeSweepResult {
  counts: SweepCounts
  /** The keys of the blobs that went, in the order of the keys. */
  deletedBlobs: string[]
  failures: DeleteFailure[]
  /** What is condemned waits for writer leases to end. */
  waiting: boolean
  /** Set when the time was up before all was done: give it to the run that goes on. */
  resumeAfter?: string
  /** Requests to S3. */
  lists: number
  deletes: number
}

/** Nothing can still be using an upload that was staged so long ago: its request lasts minutes. */
const STAGING_MS = 86_400_000
const GRACE_CHECK_MS = 1_000
/** Before all blobs and after them. */
const FIRST_KEY = `sandbox-artifacts/sha256/${'0'.repeat(64)}`
const LAST_KEY = `sandbox-files/sha256/${'f'.repeat(64)}`
/** When S3 refuses more deletes than this in one run, no others are prepared. */
const MAX_FAILED = 10_000

/**
 * Sweeps one scope, at any time of day: finishes what an earlier run condemned, clears away what is deleted already,
 * condemns what is unused, and deletes it when the leases allow. Killed anywhere, the next run goes on; two at a time
 * do no harm. What each step rests on is said in `protocol.ts`.
 */
export async function sweepScope(input: ScopeSweepInput): Promise<ScopeSweepResult> {
  return new ScopeSweep(input).run()
}

/** Deletes just the blobs that stand on pages, as far as the leases allow now. @returns the keys that went */
export async function finishBlobPages(stores: Omit<ScopeSweepInput, 'olderThanMs' | 'dryRun' | 'waitMs'>) {
  return new ScopeSweep({ ...stores, olderThanMs: 0, dryRun: false, waitMs: 0 }).finishBlobPages()
}

class ScopeSweep {
  readonly #input: ScopeSweepInput
  readonly #context: { table: Table; scope: Scope; bodies: Bodies; now: () => number }
  readonly #references: References
  readonly #blobs: Versions
  readonly #bodies: Versions
  readonly #staging: Versions
  readonly #blobPages: Pages
  readonly #bodyPages: Pages
  readonly #counts: SweepCounts
  readonly #deletedBlobs: string[] = []
  readonly #failures: DeleteFailure[] = []
  /** Versions that S3 would not delete. They stand on a page already, and are tried again by the next run. */
  readonly #failedVersions = new Set<string>()
  readonly #failedPages = new Set<string>()
  #bundles = { lists: 0, deletes: 0 }
  #resumeAfter: string | undefined
  /** The time was up while pages were left to delete. */
  #pagesLeft = false
  #pagesDone = 0

  constructor(input: ScopeSweepInput) {
    const { table, s3, bucketName, scope, now } = input
    this.#input = input
    this.#counts = input.counts ?? noCounts()
    this.#context = { table, scope, now, bodies: new Bodies(s3, bucketName, scope) }
    this.#references = new References(this.#context, input.maxSlots)
    this.#blobs = new Versions(s3, bucketName, blobObjectPrefix(scope))
    this.#bodies = new Versions(s3, bucketName, bodyObjectPrefix(scope))
    this.#staging = new Versions(s3, bucketName, stagingObjectPrefix(scope))
    this.#blobPages = new Pages(table, scope, 'blobs')
    this.#bodyPages = new Pages(table, scope, 'bodies')
  }

  async run(): Promise<ScopeSweepResult> {
    if (this.#input.dryRun) {
      await this.#condemn(async () => undefined)
      return this.#result(false)
    }
    // Pages of a run that was killed, or that had to wait.
    const waiting = !(await this.#finishPages(0))
    if (this.#pagesLeft) return this.#goOnAfter(this.#input.resumeAfter ?? FIRST_KEY)
    await this.#clearDeleted()
    await this.#clearStaging()
    await this.#clearBundles()
    // What is condemned already would only be condemned again; a run that goes on begins after it.
    const again = waiting && this.#input.resumeAfter === undefined
    if (again || this.#failedVersions.size > MAX_FAILED) return this.#result(waiting)
    await this.#condemn((pages, entries) => pages.write(entries))
    const isLast = this.#resumeAfter === undefined
    const finished = await this.#finishPages(isLast ? this.#input.waitMs : 0)
    return isLast && this.#pagesLeft ? this.#goOnAfter(LAST_KEY) : this.#result(!finished)
  }

  /** The run that goes on finishes the pages first, in any case. */
  #goOnAfter(key: string): ScopeSweepResult {
    this.#resumeAfter = key
    return this.#result(false)
  }

  /** Not before one page is done: each run gets on. */
  #leavesPages(): boolean {
    this.#pagesLeft ||= this.#pagesDone > 0 && this.#timeIsUp()
    return this.#pagesLeft
  }

  #timeIsUp(): boolean {
    return this.#input.timeIsUp?.() ?? false
  }

  async finishBlobPages(): Promise<string[]> {
    const { over } = await this.#notes()
    await this.#deleteBlobPages(over)
    return this.#deletedBlobs
  }

  async #condemn(write: (pages: Pages, entries: Condemned[]) => Promise<void>): Promise<void> {
    const { olderThanMs, resumeAfter: after } = this.#input
    const before = this.#context.now() - olderThanMs
    const input = {
      before,
      counts: this.#counts,
      skip: (version: Condemned) => this.#failedVersions.has(nameOf(version)),
    }
    this.#resumeAfter = await condemnBlobs(this.#references, this.#blobs, {
      ...input,
      after,
      timeIsUp: () => this.#timeIsUp(),
      write: (entries) => write(this.#blobPages, entries),
    })
    if (this.#resumeAfter !== undefined) return
    await condemnBodies(this.#context, this.#bodies, {
      ...input,
      write: (entries) => write(this.#bodyPages, entries),
    })
  }

  /** Deletes what stands on pages, once the leases allow. False: they do not, yet, or the time was up. */
  async #finishPages(waitMs: number): Promise<boolean> {
    const until = Date.now() + waitMs
    for (;;) {
      const { over, waiting } = await this.#notes()
      // The references are read after the leases have ended, and before anything goes.
      await this.#deleteBlobPages(over)
      await this.#deleteBodyPages(over)
      if (!waiting || this.#pagesLeft || Date.now() >= until || this.#timeIsUp()) return !waiting
      await sleep(GRACE_CHECK_MS)
    }
  }

  /**
   * The notes of the pages whose leases have ended, and whether there are others; pages without a whole note get one.
   */
  async #notes(): Promise<{ over: Set<string>; waiting: boolean }> {
    const named = await Promise.all(
      [this.#blobPages, this.#bodyPages].map(async (pages) =>
        (await pages.names()).map((name) => ({ pages, name, note: name.note })),
      ),
    )
    const all = named.flat().filter(({ name }) => !name.decided)
    const states = new Map<string, boolean | undefined>()
    for (const { note } of all) {
      if (note !== undefined && !states.has(note)) states.set(note, await graceIsOver(this.#context, note))
    }
    const without = all.filter(({ note }) => note === undefined || states.get(note) === undefined)
    if (without.length > 0) {
      // Noted after the pages were read: each was there before.
      const note = await noteLeases(this.#context)
      for (const { pages, name } of without) await pages.setNote(name, note)
      states.set(note, await graceIsOver(this.#context, note))
    }
    await forgetNotes(this.#context, new Set(states.keys()))
    const over = new Set([...states].filter(([, ended]) => ended === true).map(([note]) => note))
    return { over, waiting: over.size < states.size }
  }

  async #deleteBlobPages(over: ReadonlySet<string>): Promise<void> {
    this.#references.forget()
    for await (const page of this.#blobPages.read()) {
      if (!this.#isDue(page, over)) continue
      if (this.#leavesPages()) return
      const keys = page.decided ? [] : page.entries.map(({ key }) => key)
      const counts = await this.#references.counts(keys)
      const used = new Set(keys.filter((_key, index) => counts[index] !== 0))
      const gone = await this.#deletePage(this.#blobPages, this.#blobs, page, used)
      // A version that was hidden by a newer one was not the blob.
      for (const { key, current } of gone) if (current) this.#deletedBlobs.push(key)
    }
  }

  #isDue({ note, sortKey, decided }: PageName, over: ReadonlySet<string>): boolean {
    return (decided || (note !== undefined && over.has(note))) && !this.#failedPages.has(sortKey)
  }

  async #deleteBodyPages(over: ReadonlySet<string>): Promise<void> {
    for await (const page of this.#bodyPages.read()) {
      if (!this.#isDue(page, over)) continue
      if (this.#leavesPages()) return
      const used = new Set<string>()
      for (const threadHash of new Set(page.entries.map(({ key }) => key.split('/')[0] ?? ''))) {
        for (const name of await this.#bodyNames(threadHash)) used.add(`${threadHash}/${name}`)
      }
      await this.#deletePage(this.#bodyPages, this.#bodies, page, used)
    }
  }

  async #bodyNames(threadHash: string): Promise<string[]> {
    const { pk, sk } = threadKey(this.#context.scope, threadHash)
    const names: string[] = []
    for await (const items of this.#context.table.query(pk, { prefix: sk, attributes: ['bodyName'] })) {
      for (const { bodyName } of items) if (bodyName !== undefined) names.push(bodyName as string)
    }
    return names
  }

  /** Deletes the entries of a page that are unused still, and then the page. @returns the entries that went */
  async #deletePage(pages: Pages, versions: Versions, page: Page, used: ReadonlySet<string>): Promise<Condemned[]> {
    this.#pagesDone += 1
    const unused = page.entries.filter((entry) => deletes(entry, used.has(entry.key)))
    const doomed = page.decided ? page.entries : await pages.decide(page, unused)
    if (!doomed) return []
    const failures = await versions.delete(doomed)
    const failed = new Set(failures.map(nameOf))
    const gone = doomed.filter((entry) => !failed.has(nameOf(entry)))
    this.#counts.spared += page.entries.length - doomed.length
    this.#counts.deleted += gone.length
    this.#counts.bytesFreed += gone.reduce((sum, { size }) => sum + size, 0)
    if (failures.length === 0) {
      await pages.remove(page)
      return gone
    }
    this.#failures.push(...failures.map(({ key, reason }) => ({ key, reason })))
    for (const name of failed) this.#failedVersions.add(name)
    this.#failedPages.add(page.sortKey)
    await pages.keep(
      page,
      doomed.filter((entry) => failed.has(nameOf(entry))),
    )
    return gone
  }

  /** What prunes left behind when they were killed after their commit, and threads that came to have no checkpoint. */
  async #clearDeleted(): Promise<void> {
    const { table, scope } = this.#context
    for (const shard of SHARDS) {
      const pages = table.query(shardPartition(scope, shard), { attributes: [...META_ATTRIBUTES, TABLE.ttl] })
      for await (const items of byThread(pages)) {
        this.#counts.cleared += await removeUnusedThread(this.#context, items)
        // A thread that changes just now is left to the next sweep.
        const dead = readChain(items)?.dead ?? []
        await retryTransient(() => clearAway(this.#context, dead))
        this.#counts.cleared += dead.length
      }
    }
  }

  async #clearStaging(): Promise<void> {
    const before = this.#context.now() - STAGING_MS
    for await (const listed of this.#staging.list()) {
      const stale = listed.filter(({ uploadedAt }) => uploadedAt < before)
      const failures = await this.#staging.delete(stale)
      this.#failures.push(...failures.map(({ key, reason }) => ({ key, reason })))
      this.#counts.cleared += stale.length - failures.length
    }
  }

  async #clearBundles(): Promise<void> {
    const { table, s3, bucketName, scope, now } = this.#input
    const swept = await sweepBundles({ table, s3, bucketName, scope }, now)
    this.#counts.cleared += swept.cleared
    this.#failures.push(...swept.failures)
    this.#bundles = swept
  }

  #result(waiting: boolean): ScopeSweepResult {
    const all = [this.#blobs, this.#bodies, this.#staging, this.#bundles]
    return {
      counts: this.#counts,
      deletedBlobs: this.#deletedBlobs,
      failures: this.#failures,
      waiting,
      ...(this.#resumeAfter !== undefined && { resumeAfter: this.#resumeAfter }),
      lists: all.reduce((sum, { lists }) => sum + lists, 0),
      deletes: all.reduce((sum, { deletes }) => sum + deletes, 0),
    }
  }
}

function nameOf({ key, versionId }: Pick<Condemned, 'key' | 'versionId'>): string {
  return `${key} ${versionId}`
}
