import type { StoreContext } from '../checkpoints/context.ts'
import { eachKeyList } from '../checkpoints/references.ts'
import { SHARDS, shardPartition, threadHashOf } from '../table/keys.ts'
import { KeySet } from './key-set.ts'
import { type Condemned, PAGE_ENTRIES } from './pages.ts'
import { condemns, type ListedVersion } from './protocol.ts'
import type { SweepCounts } from './report.ts'
import type { Versions } from './versions.ts'

type SweepContext = Pick<StoreContext, 'table' | 'scope' | 'bodies'>

/**
 * How often each blob of the scope is referenced, in bounded memory: of more references than fit it knows a stretch of
 * the keys, and reads them again when it is asked for a key outside. Ask in the order of the keys.
 */
export class References {
  readonly #context: SweepContext
  readonly #known: KeySet
  #isRead = false

  /** `maxSlots`: see KeySet. */
  constructor(context: SweepContext, maxSlots?: number) {
    this.#context = context
    this.#known = new KeySet({ maxSlots })
  }

  /** Reads the references of as many keys as fit, from the first or from `from` on. */
  async read(from?: string): Promise<void> {
    this.#known.reset(from)
    await eachKeyList(this.#context, ({ packed, fileKeys }) => this.#known.addPacked(packed, fileKeys))
    this.#isRead = true
  }

  /** Has them read again, as soon as they are needed. */
  forget(): void {
    this.#isRead = false
  }

  /** How often each of the keys is referenced. */
  async counts(keys: readonly string[]): Promise<number[]> {
    if (!this.#isRead) await this.read()
    const counts: number[] = []
    // Most keys are known: to wait for each would take longer than to look it up.
    for (const key of keys) counts.push(this.#known.count(key) ?? (await this.#countAnew(key)))
    return counts
  }

  async #countAnew(key: string): Promise<number> {
    await this.read(key)
    const count = this.#known.count(key)
    if (count !== undefined) return count
    throw new Error('More blob keys begin with the same bytes than fit into memory, which no hashes do.')
  }
}

/**
 * All versions of the scope's blobs, a page at a time, each with how many checkpoints refer to its key. `after`: begin
 * after this key.
 */
export async function* versionsWithReferences(
  references: References,
  versions: Versions,
  after?: string,
): AsyncGenerator<Array<{ version: ListedVersion; references: number }>> {
  await references.read(after)
  for await (const page of versions.list(after)) {
    const counts = await references.counts(page.map(({ key }) => key))
    yield page.map((version, index) => ({ version, references: counts[index] ?? 0 }))
  }
}

export interface CondemnInput {
  /** Only versions from before this time are condemned. */
  before: number
  counts: SweepCounts
  /** What stands on a page already. */
  skip: (version: ListedVersion) => boolean
  write: (entries: Condemned[]) => Promise<void>
}

/**
 * Puts on pages every version of a blob that is old enough and unused, from the one after the key `after` on.
 * @returns the key after which to go on, when `timeIsUp` said to stop.
 */
export async function condemnBlobs(
  references: References,
  versions: Versions,
  input: CondemnInput & { after: string | undefined; timeIsUp: () => boolean },
): Promise<string | undefined> {
  const page = new PageBuffer(input.write)
  let last = input.after
  for await (const listed of versionsWithReferences(references, versions, input.after)) {
    for (const { version, references: count } of listed) {
      // One key is done at least, so that runs which go on from each other come to an end.
      if (version.key !== last && last !== input.after && input.timeIsUp()) {
        await page.flush()
        return last
      }
      last = version.key
      input.counts.listed += 1
      if (count > 0 && version.current) input.counts.referenced += 1
      if (!condemns(version, count > 0, input.before) || input.skip(version)) continue
      input.counts.condemned += 1
      await page.add(version)
    }
  }
  await page.flush()
  return undefined
}

/** Puts on pages every body that is old enough and that no checkpoint item names. */
export async function condemnBodies(context: SweepContext, versions: Versions, input: CondemnInput): Promise<void> {
  const page = new PageBuffer(input.write)
  const threads = bodyNames(context)
  let thread = await threads.next()
  for await (const listed of versions.list()) {
    for (const version of listed) {
      const [threadHash = '', name = ''] = version.key.split('/')
      while (!thread.done && thread.value.threadHash < threadHash) thread = await threads.next()
      const named = !thread.done && thread.value.threadHash === threadHash && thread.value.names.has(name)
      input.counts.listed += 1
      if (!condemns(version, named, input.before) || input.skip(version)) continue
      input.counts.condemned += 1
      await page.add(version)
    }
  }
  await page.flush()
}

/** The names of the bodies that the items of each thread name, in the order of the thread hashes. */
async function* bodyNames({ table, scope }: SweepContext): AsyncGenerator<{ threadHash: string; names: Set<string> }> {
  let current = { threadHash: '', names: new Set<string>() }
  for (const shard of SHARDS) {
    for await (const items of table.query(shardPartition(scope, shard), { attributes: ['sk', 'bodyName'] })) {
      for (const { sk, bodyName } of items) {
        const threadHash = threadHashOf(sk as string)
        if (threadHash !== current.threadHash) {
          if (current.names.size > 0) yield current
          current = { threadHash, names: new Set() }
        }
        if (bodyName !== undefined) current.names.add(bodyName as string)
      }
    }
  }
  if (current.names.size > 0) yield current
}

/** Gathers entries into pages; the versions of one key stand on one page. */
class PageBuffer {
  readonly #write: (entries: Condemned[]) => Promise<void>
  #entries: Condemned[] = []

  constructor(write: (entries: Condemned[]) => Promise<void>) {
    this.#write = write
  }

  async add({ key, versionId, size, current }: ListedVersion): Promise<void> {
    if (this.#entries.length >= PAGE_ENTRIES && this.#entries.at(-1)?.key !== key) await this.flush()
    this.#entries.push({ key, versionId, size, current })
  }

  async flush(): Promise<void> {
    if (this.#entries.length > 0) await this.#write(this.#entries)
    this.#entries = []
  }
}
