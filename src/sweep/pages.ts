import { randomUUID } from 'node:crypto'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { sweepKey, sweepPartition } from '../table/keys.ts'
import type { Item, Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'

/** A version of an object of the bucket that is condemned. */
export interface Condemned {
  /** Of a blob the blob's key; of a body what follows the scope in the object's key. */
  key: string
  versionId: string
  size: number
  current: boolean
}

/** A page without what stands on it. */
export interface PageName {
  sortKey: string
  /** The note of the writer leases that were live when the page was there. Without one nothing on it may go. */
  note?: string
  /** All that stands on it goes: so it was decided, once for all sweeps. */
  decided: boolean
}

export interface Page extends PageName {
  entries: Condemned[]
}

/** Entries of one page: with some 70 bytes each it stays within DynamoDB's 400 KB an item. */
export const PAGE_ENTRIES = 4_000

/** The pages of one scope on which condemned objects stand, in the order of the last keys on them. */
export class Pages {
  readonly #table: Table
  readonly #scope: Scope
  readonly #prefix: string

  constructor(table: Table, scope: Scope, kind: 'blobs' | 'bodies') {
    this.#table = table
    this.#scope = scope
    this.#prefix = `${kind}#`
  }

  /** Writes a page of entries in the order of their keys, under a name that no page had before. */
  async write(entries: Condemned[]): Promise<void> {
    const last = entries.at(-1)?.key
    const sortKey = `${this.#prefix}${last}#${randomUUID()}`
    const packed = packEntries(entries)
    await retryTransient(() => this.#table.put({ ...sweepKey(this.#scope, sortKey), packed }))
  }

  /** The pages whose last key is `from` or after it. */
  async *read(from = ''): AsyncGenerator<Page> {
    // Ends before the `#` of the first sort key that is wanted.
    const after = this.#prefix + from
    for await (const items of this.#table.query(sweepPartition(this.#scope), { prefix: this.#prefix, after })) {
      for (const item of items) yield readPage(item)
    }
  }

  async names(): Promise<PageName[]> {
    const names: PageName[] = []
    const options = { prefix: this.#prefix, attributes: ['sk', 'note', 'decided'] }
    for await (const items of this.#table.query(sweepPartition(this.#scope), options)) {
      for (const item of items) names.push(readName(item))
    }
    return names
  }

  /** Notes the leases that a page has to wait for. One that another sweep has removed stays removed. */
  async setNote({ sortKey }: PageName, note: string): Promise<void> {
    await retryTransient(() =>
      this.#table.update(sweepKey(this.#scope, sortKey), {
        expression: 'SET #note = :note',
        condition: 'attribute_exists(pk)',
        names: { '#note': 'note' },
        values: { ':note': note },
      }),
    )
  }

  /** Those of the keys that stand on a page. */
  async condemnedAmong(keys: readonly string[]): Promise<Set<string>> {
    return new Set((await this.versionsAmong(keys)).keys())
  }

  /** Those of the keys that stand on a page, each with the ids of its versions there. */
  async versionsAmong(keys: readonly string[]): Promise<Map<string, Set<string>>> {
    const wanted = new Set(keys)
    const found = new Map<string, Set<string>>()
    // Keys are ASCII: the default order is that of their bytes. Pages may overlap, so all from the least on count.
    const [least] = [...wanted].sort()
    if (least === undefined) return found
    for await (const { entries } of this.read(least)) {
      for (const { key, versionId } of entries) {
        if (wanted.has(key)) found.set(key, (found.get(key) ?? new Set()).add(versionId))
      }
    }
    return found
  }

  /**
   * Decides what of a page goes, and takes the rest off it, unless another sweep has decided that already. Two sweeps
   * may read the references at different times and come to differ: what one has spared, and so given free, the other
   * must not delete.
   * @returns what goes; undefined when another sweep has removed the page
   */
  async decide({ sortKey }: PageName, doomed: Condemned[]): Promise<Condemned[] | undefined> {
    const { done, item } = await retryTransient(() =>
      this.#table.update(sweepKey(this.#scope, sortKey), {
        expression: 'SET #packed = :packed, #decided = :true',
        condition: 'attribute_exists(pk) AND attribute_not_exists(#decided)',
        names: { '#packed': 'packed', '#decided': 'decided' },
        values: { ':packed': packEntries(doomed), ':true': true },
      }),
    )
    if (done) return doomed
    return item && readPage(item).entries
  }

  /** Takes off a page of which it is decided what goes all but these entries. One that is removed stays removed. */
  async keep({ sortKey }: PageName, entries: Condemned[]): Promise<void> {
    await retryTransient(() =>
      this.#table.update(sweepKey(this.#scope, sortKey), {
        expression: 'SET #packed = :packed',
        condition: 'attribute_exists(#decided)',
        names: { '#packed': 'packed', '#decided': 'decided' },
        values: { ':packed': packEntries(entries) },
      }),
    )
  }

  async remove({ sortKey }: PageName): Promise<void> {
    await retryTransient(() => this.#table.delete(sweepKey(this.#scope, sortKey)))
  }
}

/** How much stands on the pages of a scope, in bytes: what is condemned and not deleted yet. */
export async function bytesOnPages(table: Table, scope: Scope): Promise<number> {
  let bytes = 0
  for (const kind of ['blobs', 'bodies'] as const) {
    for await (const { entries } of new Pages(table, scope, kind).read()) {
      for (const { size } of entries) bytes += size
    }
  }
  return bytes
}

function packEntries(entries: Condemned[]): Buffer {
  return zstdCompressSync(
    JSON.stringify(entries.map((entry) => [entry.key, entry.versionId, entry.size, entry.current])),
  )
}

function readName({ sk, note, decided }: Item): PageName {
  return { sortKey: sk as string, decided: decided === true, ...(note !== undefined && { note: note as string }) }
}

function readPage(item: Item): Page {
  const rows = JSON.parse(zstdDecompressSync(item.packed as Uint8Array).toString()) as Array<
    [string, string, number, boolean]
  >
  return {
    ...readName(item),
    entries: rows.map(([key, versionId, size, current]) => ({ key, versionId, size, current })),
  }
}
