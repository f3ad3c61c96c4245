import type { Table } from '../table/table.ts'
import type { Scope } from '../tenancy/scope.ts'
import { type FileEntry, isLive, listPartition, placeOf, readEntry } from './items.ts'

export interface ListInput {
  table: Table
  scope: Scope
  owners: readonly string[]
  limit: number
  /** The place of the last file of the page before. */
  after: string | undefined
  now: number
}

/**
 * The newest files of several owners. It takes one read of each owner's list, and more only where files whose time is
 * over lie in between.
 */
export async function newestFiles(input: ListInput): Promise<{ entries: FileEntry[]; more: boolean }> {
  const { owners, limit, after, now } = input
  const sources = owners.map((owner) => liveEntries(input, owner, after, limit + 1, now))
  const heads = await Promise.all(sources.map((source) => source.next()))
  const entries: FileEntry[] = []
  for (;;) {
    const newest = newestOf(heads)
    if (newest === undefined) return { entries, more: false }
    if (entries.length === limit) return { entries, more: true }
    entries.push(newest.entry)
    const source = sources[newest.index]
    if (source) heads[newest.index] = await source.next()
  }
}

function newestOf(heads: readonly IteratorResult<FileEntry, undefined>[]) {
  let newest: { entry: FileEntry; index: number } | undefined
  for (const [index, { value }] of heads.entries()) {
    if (value && (!newest || placeOf(value) > placeOf(newest.entry))) newest = { entry: value, index }
  }
  return newest
}

async function* liveEntries(
  { table, scope }: ListInput,
  owner: string,
  after: string | undefined,
  pageSize: number,
  now: number,
): AsyncGenerator<FileEntry, undefined> {
  const options = { reverse: true, pageSize, ...(after !== undefined && { after }) }
  for await (const items of table.query(listPartition(scope, owner), options)) {
    for (const entry of items.map(readEntry)) if (isLive(entry, now)) yield entry
  }
  return undefined
}
