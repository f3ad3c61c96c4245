import {
  ConditionalCheckFailedException,
  type ConsumedCapacity,
  type DynamoDBClient,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb'
import {
  BatchGetCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  type QueryCommandOutput,
  TransactGetCommand,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
  type UpdateCommandOutput,
} from '@aws-sdk/lib-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { Key } from './keys.ts'
import { retryTransient, TransientError } from './transient.ts'

export type Item = Record<string, unknown>

export type TransactAction = NonNullable<TransactWriteCommandInput['TransactItems']>[number]

/** An expression of DynamoDB with the names and values that it uses. */
export interface Update {
  expression: string
  /** @default none: the update is always done */
  condition?: string
  names: Record<string, string>
  values: Item
}

/** A condition with the names and values that it uses. */
export type Condition = Pick<Update, 'names' | 'values'> & { condition: string }

/** The condition that a put makes a new item. */
export const NEW_ITEM: Condition = { condition: 'attribute_not_exists(pk)', names: {}, values: {} }

/** What a conditional write came to: done, or refused with the item as it was (none: there was no item). */
export type WriteResult = { done: true; item: Item | undefined } | { done: false; item: Item | undefined }

/** What a transaction came to; `refused[i]` is there when action i's condition failed, with the item as it was. */
export type TransactResult = { done: true } | { done: false; refused: Array<{ item: Item | undefined } | undefined> }

export interface QueryOptions {
  /** What the sort keys begin with. */
  prefix?: string
  /** Begins behind this sort key, which must begin with the prefix. */
  after?: string
  /** Reads these attributes alone. */
  attributes?: readonly string[]
  /** The last sort key first. */
  reverse?: boolean
  /** The most items of one page, for callers that need few. */
  pageSize?: number
  /** In its place: of the first page, for callers that seldom need more. Each page may have twice what the one before had. */
  firstPageSize?: number
}

/** What requests to the table have cost. */
export interface CapacityMeter {
  requests: number
  readUnits: number
  writeUnits: number
}

/** Small items of this number fill a page of 1 MB. */
const MAX_GROWN_PAGE = 10_000

type WriteAnswer = Pick<UpdateCommandOutput, 'Attributes' | 'ConsumedCapacity'>

/** The table, as this project uses it: strongly consistent reads, conditions whose failure tells the old item. */
export class Table {
  readonly name: string
  readonly #client: DynamoDBDocumentClient
  readonly #meter: CapacityMeter | undefined

  /** `meter`: counts what requests cost, where that is asked for; batches and transactions are left out. */
  constructor(dynamodb: DynamoDBClient, name: string, meter?: CapacityMeter) {
    this.name = name
    this.#meter = meter
    this.#client = DynamoDBDocumentClient.from(dynamodb, { marshallOptions: { removeUndefinedValues: true } })
  }

  async get(key: Key): Promise<Item | undefined> {
    const command = new GetCommand({ TableName: this.name, Key: key, ConsistentRead: true, ...this.#capacity })
    const { Item, ConsumedCapacity } = await this.#client.send(command)
    this.#count('readUnits', ConsumedCapacity)
    return Item
  }

  /**
   * The items of up to 100 distinct keys, in no order; each read by itself, not at one instant.
   * @throws TransientError when DynamoDB left some unread.
   */
  async batchGet(keys: Key[]): Promise<Item[]> {
    const { Responses, UnprocessedKeys } = await this.#client.send(
      new BatchGetCommand({
        RequestItems: { [this.name]: { Keys: keys.map((key) => ({ ...key })), ConsistentRead: true } },
      }),
    )
    if (UnprocessedKeys?.[this.name]?.Keys?.length) throw new TransientError('DynamoDB left keys of a batch unread.')
    return Responses?.[this.name] ?? []
  }

  /**
   * The items of up to 100 distinct keys as they were at one instant, in the order of the keys.
   * @throws TransientError when a transaction held one of them.
   */
  async transactGet(keys: readonly Key[]): Promise<(Item | undefined)[]> {
    const TransactItems = keys.map((key) => ({ Get: { TableName: this.name, Key: { ...key } } }))
    try {
      const { Responses = [] } = await this.#client.send(new TransactGetCommand({ TransactItems }))
      return keys.map((_key, index) => Responses[index]?.Item)
    } catch (error) {
      if (!(error instanceof TransactionCanceledException)) throw error
      throw asTransient(error) ?? error
    }
  }

  /**
   * The items of a partition whose sort key begins with `prefix`, in the order of their sort keys or the reverse, a page (1 MB) at a
   * time. A page is not read at one instant: other writes may come between its items. A page that fails in passing is
   * read again by itself.
   * @throws UnavailableError
   */
  async *query(partition: string, options: QueryOptions = {}): AsyncGenerator<Item[]> {
    const { prefix = '', after, attributes, reverse = false, pageSize, firstPageSize } = options
    let limit = firstPageSize ?? pageSize
    const projection = attributes && {
      ProjectionExpression: attributes.map((_name, index) => `#a${index}`).join(', '),
      ExpressionAttributeNames: Object.fromEntries(attributes.map((name, index) => [`#a${index}`, name])),
    }
    let start: Record<string, unknown> | undefined = after === undefined ? undefined : { pk: partition, sk: after }
    do {
      const answer: Pick<QueryCommandOutput, 'Items' | 'LastEvaluatedKey' | 'ConsumedCapacity'> = await retryTransient(
        () =>
          this.#client.send(
            new QueryCommand({
              TableName: this.name,
              ConsistentRead: true,
              KeyConditionExpression: prefix === '' ? 'pk = :pk' : 'pk = :pk AND begins_with(sk, :prefix)',
              ExpressionAttributeValues: { ':pk': partition, ...(prefix !== '' && { ':prefix': prefix }) },
              ...projection,
              ...(reverse && { ScanIndexForward: false }),
              ...(limit !== undefined && { Limit: limit }),
              ...this.#capacity,
              ExclusiveStartKey: start,
            }),
          ),
      )
      this.#count('readUnits', answer.ConsumedCapacity)
      yield answer.Items ?? []
      start = answer.LastEvaluatedKey
      if (firstPageSize !== undefined && limit !== undefined) limit = Math.min(2 * limit, MAX_GROWN_PAGE)
    } while (start)
  }

  async put(item: Item): Promise<void> {
    const command = new PutCommand({ TableName: this.name, Item: item, ...this.#capacity })
    const { ConsumedCapacity } = await this.#client.send(command)
    this.#count('writeUnits', ConsumedCapacity)
  }

  /** Updates one item; `item` of the result is the new item, or the old one of a refused update. */
  async update(key: Key, update: Update): Promise<WriteResult> {
    const command = new UpdateCommand({
      ...this.#updateInput(key, update),
      ReturnValues: 'ALL_NEW',
      ...this.#capacity,
    })
    return this.#refusalOf(() => this.#client.send(command))
  }

  /** Deletes an item; under a condition, `item` of a refused delete is the item that stays. */
  async delete(key: Key, condition?: Condition): Promise<WriteResult> {
    const command = new DeleteCommand({
      TableName: this.name,
      Key: key,
      ...(condition && conditionInput(condition)),
      ...this.#capacity,
    })
    return this.#refusalOf(() => this.#client.send(command))
  }

  /**
   * One TransactWriteItems. The token makes the repeats that the SDK sends after a lost answer harmless.
   * @throws TransientError when DynamoDB was too busy, or another transaction held one of the items.
   */
  async transact(actions: TransactAction[], token: string): Promise<TransactResult> {
    try {
      await this.#client.send(new TransactWriteCommand({ TransactItems: actions, ClientRequestToken: token }))
      return { done: true }
    } catch (error) {
      if (!(error instanceof TransactionCanceledException)) throw error
      const reasons = (error.CancellationReasons ?? []).map((reason) => ({
        code: (reason.Code ?? 'none').toLowerCase(),
        item: reason.Item && unmarshall(reason.Item),
      }))
      const other = reasons.find(({ code }) => code !== 'none' && code !== 'conditionalcheckfailed')
      if (other) throw asTransient(error) ?? error
      if (reasons.length === 0) throw error
      return {
        done: false,
        refused: reasons.map(({ code, item }) => (code === 'none' ? undefined : { item })),
      }
    }
  }

  transactPut(item: Item & Key, condition?: Condition): TransactAction {
    return {
      Put: {
        TableName: this.name,
        Item: item,
        ...(condition && conditionInput(condition)),
      },
    }
  }

  transactUpdate(key: Key, update: Update): TransactAction {
    return { Update: this.#updateInput(key, update) }
  }

  transactDelete(key: Key, condition?: Condition): TransactAction {
    return { Delete: { TableName: this.name, Key: key, ...(condition && conditionInput(condition)) } }
  }

  transactCheck(key: Key, condition: Condition): TransactAction {
    return { ConditionCheck: { TableName: this.name, Key: key, ...conditionInput(condition) } }
  }

  async #refusalOf(write: () => Promise<WriteAnswer>): Promise<WriteResult> {
    try {
      const { Attributes, ConsumedCapacity } = await write()
      this.#count('writeUnits', ConsumedCapacity)
      return { done: true, item: Attributes }
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error
      // The document client leaves the items of errors as they came.
      return { done: false, item: error.Item && unmarshall(error.Item) }
    }
  }

  get #capacity() {
    return this.#meter ? { ReturnConsumedCapacity: 'TOTAL' as const } : {}
  }

  #count(units: 'readUnits' | 'writeUnits', consumed: ConsumedCapacity | undefined): void {
    if (!this.#meter) return
    this.#meter.requests += 1
    this.#meter[units] += consumed?.CapacityUnits ?? 0
  }

  #updateInput(key: Key, { expression, condition, names, values }: Update) {
    return {
      TableName: this.name,
      Key: key,
      UpdateExpression: expression,
      ...(condition !== undefined && {
        ConditionExpression: condition,
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
      }),
      ExpressionAttributeNames: names,
      // DynamoDB refuses an empty map.
      ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
    } satisfies UpdateCommandInput
  }
}

const transientReasons: ReadonlySet<string> = new Set([
  'transactionconflict',
  'throttlingerror',
  'provisionedthroughputexceeded',
  'requestlimitexceeded',
])

/** The error as one that passes, when the first reason that is no failed condition is such. */
function asTransient(error: TransactionCanceledException): TransientError | undefined {
  const codes = (error.CancellationReasons ?? []).map(({ Code }) => (Code ?? 'none').toLowerCase())
  const reason = codes.find((code) => code !== 'none' && code !== 'conditionalcheckfailed')
  if (reason === undefined || !transientReasons.has(reason)) return undefined
  return new TransientError(`DynamoDB cancelled a transaction: ${reason}.`, { cause: error })
}

function conditionInput({ condition, names, values }: Condition) {
  return {
    ConditionExpression: condition,
    // DynamoDB refuses empty maps.
    ...(Object.keys(names).length > 0 && { ExpressionAttributeNames: names }),
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  }
}
