import type { StoreContext } from '../checkpoints/context.ts'
import { eachKeyList } from '../checkpoints/references.ts'
import { SHARDS, shardPartition, threadHashOf } from '../table/keys.ts'
import { KeySet } from './key-set.ts'
import { type Condemned, PAGE_ENTRIES } from './pages.ts'
import { condemns, type ListedVersion } from './protocol.ts'
import type { SweepCounts } from './report.ts'
import type { Versions } from './versions.ts'

type SweepContext = Pick<StoreContext, 'table' | 'scope' | 'bodies'>

/** How often each blob of the scope is referenced, for the keys from `from` on, or for as many as fit into memory. */
export async function readReferences(
  context: SweepContext,
  from: string | undefined,
  maxSlots: number | undefined,
): Promise<KeySet> {
  const keys = new KeySet({ from, maxSlots })
  await eachKeyList(context, ({ packed, fileKeys }) => keys.addPacked(packed, fileKeys))
  return keys
}

export interface VersionsOptions {
  /** Begin after the versions of this key. */
  after?: string | undefined
  /** Slots of the set of references: see KeySet. */
  maxSlots?: number | undefined
}

/** All versions of the scope's blobs, each with how many checkpoints refer to its key. */
export async function* versionsWithReferences(
  context: SweepContext,
  versions: Versions,
  { after, maxSlots }: VersionsOptions,
): AsyncGenerator<{ version: ListedVersion; references: number }> {
  let references = await readReferences(context, after, maxSlots)
  for await (const page of versions.list(after)) {
    for (const version of page) {
      // Beyond the limit the references did not fit into memory: they take another pass, from here.
      while (references.limit !== undefined && version.key >= references.limit) {
        references = await readReferences(context, references.limit, maxSlots)
      }
      yield { version, references: references.count(version.key) }
    }
  }
}

export interface CondemnInput {
  /** Only versions from before this time are condemned. */
  before: number
  counts: SweepCounts
  write: (entries: Condemned[]) => Promise<void>
}

/**
 * Puts on pages every version of a blob that is old enough and unused.
 * @returns the key after which to go on, when `timeIsUp` said to stop.
 */
export async function condemnBlobs(
  context: SweepContext,
  versions: Versions,
  input: CondemnInput & VersionsOptions & { timeIsUp: () => boolean },
): Promise<string | undefined> {
  const page = new PageBuffer(input.write)
  let last = input.after
  for await (const { version, references } of versionsWithReferences(context, versions, input)) {
    if (version.key !== last && input.timeIsUp()) {
      await page.flush()
      return last
    }
    last = version.key
    input.counts.listed += 1
    if (references > 0 && version.current) input.counts.referenced += 1
    if (!condemns(version, references > 0, input.before)) continue
    input.counts.condemned += 1
    await page.add(version)
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
      if (!condemns(version, named, input.before)) continue
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
