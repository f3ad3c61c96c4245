import { Stream } from 'node:stream'
import type { Callback, KeyValueDb, Store } from 'dynalite/db/index.js'
import { DynamoDbError } from './errors.ts'
import { checkStoredItem } from './limits.ts'
import { itemSize } from './size.ts'
import type { TableDefinition, WireItem } from './types.ts'

/** One entry of an atomic batch on the database. */
export type Change = { type: 'put'; key: string; value: unknown } | { type: 'del'; key: string }

/** The most bytes of items that one page of a Query or Scan reads. */
const MAX_PAGE_BYTES = 1024 * 1024

/** How many values are decoded ahead of their reader; items may be large. */
const READ_AHEAD = 8

/** A table's definition; undefined when there is no such table. */
export function findTable(db: KeyValueDb, name: string): TableDefinition | undefined {
  return db.getSync(`table~${name}`) as TableDefinition | undefined
}

/** A table's definition. Throws ResourceNotFoundException. */
export function requireTable(db: KeyValueDb, name: string): TableDefinition {
  const table = findTable(db, name)
  if (!table)
    throw new DynamoDbError('ResourceNotFoundException', `Requested resource not found: Table: ${name} not found`)
  return table
}

/**
 * The part of dynalite's store that its item actions use, over the same keys, for one request. Reads come from the database;
 * writes are only collected in `changes`, so that the caller decides whether, and with what, they are applied.
 */
export class StoreView {
  readonly options: { maxItemSize: number }
  readonly changes: Change[] = []
  /** The item that the action found under its key. */
  oldItem: WireItem | undefined
  /** The item that the action would leave there. */
  newItem: WireItem | undefined
  readonly #db: KeyValueDb
  readonly #request: { Limit?: unknown }

  constructor(store: Store, request: { Limit?: unknown }, maxItemSize = store.options.maxItemSize) {
    this.#db = store.db
    this.#request = request
    this.options = { maxItemSize }
  }

  getTable(name: string, callback: Callback): void {
    const table = findTable(this.#db, name)
    if (table) callback(null, table)
    else callback(new DynamoDbError('ResourceNotFoundException', 'Requested resource not found'))
  }

  getItemDb(table: string) {
    const prefix = `item-${table}~`
    return {
      // Requests that write run one at a time, so a lock on a key has nothing to do.
      lock: (_key: string, run: (release: (callback: Callback) => Callback) => void) => run((callback) => callback),
      get: (key: string, callback: Callback) => {
        this.oldItem = this.#db.getSync(prefix + key) as WireItem | undefined
        callback(null, this.oldItem)
      },
      put: (key: string, item: WireItem, callback: Callback) => {
        this.newItem = item
        this.#collect({ type: 'put', key: prefix + key, value: item }, callback, checkStoredItem(item))
      },
      del: (key: string, callback: Callback) => this.#collect({ type: 'del', key: prefix + key }, callback),
      createValueStream: (range: KeyRange) => this.#stream(prefix, range),
    }
  }

  getIndexDb(type: string, table: string, index: string) {
    const prefix = `index-${type.toLowerCase()}~${table}~${index}~`
    return {
      put: (key: string, item: WireItem, callback: Callback) =>
        this.#collect({ type: 'put', key: prefix + key, value: item }, callback),
      del: (key: string, callback: Callback) => this.#collect({ type: 'del', key: prefix + key }, callback),
      createValueStream: (range: KeyRange) => this.#stream(prefix, range),
    }
  }

  #collect(change: Change, callback: Callback, refusal: Error | null = null): void {
    if (!refusal) this.changes.push(change)
    callback(refusal)
  }

  #stream(prefix: string, range: KeyRange): ValueStream {
    let count = 0
    let bytes = 0
    return new ValueStream(this.#db, prefixed(prefix, range), (item) => {
      count++
      bytes += itemSize(item)
      // dynalite ends its pages by UTF-16 units; ending them by Limit as well holds them to the bytes that DynamoDB counts.
      if (bytes >= MAX_PAGE_BYTES && !(Number(this.#request.Limit) <= count)) this.#request.Limit = count
    })
  }
}

interface KeyRange {
  gt?: string
  gte?: string
  lt?: string
  lte?: string
  reverse?: boolean
  limit?: number
}

function prefixed(prefix: string, range: KeyRange): KeyRange {
  const result: KeyRange = { reverse: range.reverse ?? false, limit: range.limit ?? -1 }
  if (range.gt !== undefined) result.gt = prefix + range.gt
  else result.gte = prefix + (range.gte ?? '')
  if (range.lte !== undefined) result.lte = prefix + range.lte
  else result.lt = prefix + (range.lt ?? '\xff')
  return result
}

/** The values of a key range as the kind of stream that dynalite reads; it stops reading when destroyed. */
class ValueStream extends Stream {
  #stopped = false

  constructor(db: KeyValueDb, range: KeyRange, seen: (item: WireItem) => void) {
    super()
    void this.#pump(db, range, seen)
  }

  destroy(): void {
    this.#stopped = true
  }

  async #pump(db: KeyValueDb, range: KeyRange, seen: (item: WireItem) => void): Promise<void> {
    const iterator = db.values(range)
    try {
      while (!this.#stopped) {
        const items = (await iterator.nextv(READ_AHEAD)) as WireItem[]
        if (items.length === 0) break
        for (const item of items) {
          if (this.#stopped) break
          this.emit('data', item)
          seen(item)
        }
      }
      this.emit('end')
    } catch (error) {
      this.emit('error', error)
    } finally {
      await iterator.close()
    }
  }
}
