import type { Store } from 'dynalite/db/index.js'
import dynaliteDb from 'dynalite/db/index.js'
import { DynamoDbError, isAnswer, typeOf, validationError } from './errors.ts'
import { type OperationName, run, validate } from './item-actions.ts'
import { ReadWriteLock } from './lock.ts'
import { readPage } from './queries.ts'
import { StoreView } from './store.ts'
import {
  changeTable,
  describeContinuousBackups,
  describeTimeToLive,
  updateContinuousBackups,
  updateTimeToLive,
} from './tables.ts'
import { IdempotencyTokens } from './tokens.ts'
import { transactGetItems, transactWriteItems, wantsOldItem } from './transactions.ts'
import type { JsonObject } from './types.ts'

const MAX_BATCH_WRITES = 25
const MAX_BATCH_READ_BYTES = 16 * 1024 * 1024
/** dynalite allows a batch of reads this much more than one item's size. */
const BATCH_READ_ALLOWANCE = 1024 * 1024 - 3

type Handler = (request: JsonObject) => Promise<JsonObject>

/** The operations of DynamoDB on one database; writes run alone, so no reader sees a part of one. */
export class Engine {
  readonly #store: Store
  readonly #lock = new ReadWriteLock()
  readonly #reads: Map<string, Handler>
  readonly #writes: Map<string, Handler>

  private constructor(store: Store, tokens: IdempotencyTokens) {
    this.#store = store
    const own = (name: OperationName) => [name, (request: JsonObject) => this.#ofDynalite(name, request)] as const
    const table = (name: OperationName) => [name, (request: JsonObject) => changeTable(name, store, request)] as const
    const write = (name: OperationName) => [name, (request: JsonObject) => this.#writeItem(name, request)] as const
    this.#reads = new Map<string, Handler>([
      ['GetItem', (request) => this.#getItem(request)],
      ['Query', (request) => readPage('Query', store, request)],
      ['Scan', (request) => readPage('Scan', store, request)],
      ['BatchGetItem', (request) => this.#batchGetItem(request)],
      ['TransactGetItems', (request) => transactGetItems(store, request)],
      ['DescribeTimeToLive', (request) => describeTimeToLive(store, request)],
      ['DescribeContinuousBackups', (request) => describeContinuousBackups(store, request)],
      own('DescribeTable'),
      own('ListTables'),
      own('ListTagsOfResource'),
    ])
    this.#writes = new Map<string, Handler>([
      write('PutItem'),
      write('UpdateItem'),
      write('DeleteItem'),
      ['BatchWriteItem', (request) => this.#batchWriteItem(request)],
      ['TransactWriteItems', (request) => transactWriteItems(store, tokens, request)],
      table('CreateTable'),
      table('UpdateTable'),
      table('DeleteTable'),
      ['UpdateTimeToLive', (request) => updateTimeToLive(store, request)],
      ['UpdateContinuousBackups', (request) => updateContinuousBackups(store, request)],
      own('TagResource'),
      own('UntagResource'),
    ])
  }

  /** Opens the database in the folder `path`, or an empty one in memory. Fails when another process has it open. */
  static async open(path: string | undefined, now: () => number): Promise<Engine> {
    const store = dynaliteDb.create({ path, createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 })
    await store.db.open()
    return new Engine(store, await IdempotencyTokens.load(store.db, now))
  }

  /** Carries out one operation by its name. `request` is used up. Throws the error to answer with. */
  async execute(operation: string, request: JsonObject): Promise<JsonObject> {
    const read = this.#reads.get(operation)
    if (read) return this.#lock.read(() => read(request))
    const write = this.#writes.get(operation)
    if (write) return this.#lock.write(() => write(request))
    throw new DynamoDbError('UnknownOperationException', '')
  }

  /** Closes the database once the running requests are done. */
  close(): Promise<void> {
    return this.#lock.write(() => this.#store.db.close())
  }

  #ofDynalite(name: OperationName, request: JsonObject): Promise<JsonObject> {
    return run(name, this.#store, validate(name, request, this.#store))
  }

  #getItem(request: JsonObject): Promise<JsonObject> {
    const checked = validate('GetItem', request, this.#store)
    return run('GetItem', new StoreView(this.#store, checked), checked)
  }

  async #writeItem(name: OperationName, request: JsonObject): Promise<JsonObject> {
    const returnsOldItem = wantsOldItem(request)
    const checked = validate(name, request, this.#store)
    const view = new StoreView(this.#store, checked)
    try {
      const answer = await run(name, view, checked)
      await this.#store.db.batch(view.changes)
      return answer
    } catch (error) {
      if (returnsOldItem && view.oldItem && isAnswer(error) && typeOf(error) === 'ConditionalCheckFailedException') {
        error.body.Item = view.oldItem
      }
      throw error
    }
  }

  async #batchGetItem(request: JsonObject): Promise<JsonObject> {
    const asked = { ...(request.RequestItems as JsonObject | undefined) }
    const checked = validate('BatchGetItem', request, this.#store)
    const view = new StoreView(this.#store, checked, MAX_BATCH_READ_BYTES - BATCH_READ_ALLOWANCE)
    const answer = await run('BatchGetItem', view, checked)
    const unprocessed = answer.UnprocessedKeys as { [table: string]: JsonObject }
    for (const [table, { Keys }] of Object.entries(unprocessed)) {
      // dynalite forgets the projection, without which the caller's next call would read whole items.
      unprocessed[table] = { ...(asked[table] as JsonObject), Keys }
    }
    return answer
  }

  async #batchWriteItem(request: JsonObject): Promise<JsonObject> {
    const checked = validate('BatchWriteItem', request, this.#store)
    const writes = Object.values(checked.RequestItems as { [table: string]: unknown[] })
    if (writes.reduce((sum, list) => sum + list.length, 0) > MAX_BATCH_WRITES) {
      throw validationError('Too many items requested for the BatchWriteItem call')
    }
    const view = new StoreView(this.#store, checked)
    const answer = await run('BatchWriteItem', view, checked)
    await this.#store.db.batch(view.changes)
    return answer
  }
}
