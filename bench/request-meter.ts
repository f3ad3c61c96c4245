import { type AttributeValue, type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'
import { writeUnits } from '../local/dynamodb/size.ts'
import type { WireItem } from '../local/dynamodb/types.ts'

/** One request that a client sent. */
export interface MeteredRequest {
  command: string
  /** The actions of a TransactWriteItems. */
  actions?: number
  /** Write request units. */
  units: number
}

type Item = Record<string, AttributeValue>

interface Write {
  TableName: string
  /** Of all but a put. */
  Key?: Item
  /** Of a put. */
  Item?: Item
}

/**
 * Counts the requests of SDK clients, each attempt by itself, and their write request units by DynamoDB's rules: a write
 * costs a unit for each KB begun of the larger of the item before and the item after; in a transaction, two. To know the
 * items it reads them around each write, so times taken under a meter mean nothing.
 */
export class RequestMeter {
  requests: MeteredRequest[] = []
  readonly #dynamodb: DynamoDBClient
  readonly #s3: S3Client
  /** Requests of the meter itself. */
  readonly #own = new WeakSet<object>()

  constructor(clients: { dynamodb: DynamoDBClient; s3: S3Client }) {
    this.#dynamodb = clients.dynamodb
    this.#s3 = clients.s3
    const place = { step: 'deserialize', priority: 'low', name: METER } as const
    this.#dynamodb.middlewareStack.add(
      (next, context) => async (args) => {
        if (this.#own.has(args.input)) return next(args)
        return this.#meter(String(context.commandName), args.input, () => next(args))
      },
      place,
    )
    this.#s3.middlewareStack.add(
      (next, context) => async (args) => {
        this.requests.push({ command: String(context.commandName), units: 0 })
        return next(args)
      },
      place,
    )
  }

  /** The requests since the last time. */
  take(): MeteredRequest[] {
    const taken = this.requests
    this.requests = []
    return taken
  }

  /** Ends the metering. */
  remove(): void {
    this.#dynamodb.middlewareStack.remove(METER)
    this.#s3.middlewareStack.remove(METER)
  }

  async #meter<Output>(command: string, input: object, send: () => Promise<Output>): Promise<Output> {
    const writes = writesOf(command, input)
    const request: MeteredRequest = { command, units: 0 }
    if (command === TRANSACT_WRITE) request.actions = writes.length
    this.requests.push(request)
    const before = await this.#read(writes)
    try {
      return await send()
    } finally {
      const after = await this.#read(writes)
      const units = writes.reduce((sum, _write, index) => sum + writeUnits(before[index], after[index]), 0)
      request.units = command === TRANSACT_WRITE ? 2 * units : units
    }
  }

  async #read(writes: Write[]): Promise<Array<WireItem | undefined>> {
    return Promise.all(
      writes.map(async ({ TableName, Key, Item }) => {
        const key = Key ?? { pk: Item?.pk ?? { S: '' }, sk: Item?.sk ?? { S: '' } }
        const input = { TableName, Key: key, ConsistentRead: true }
        this.#own.add(input)
        const answer = await this.#dynamodb.send(new GetItemCommand(input))
        return answer.Item && toWire(answer.Item)
      }),
    )
  }
}

const METER = 'requestMeter'
const TRANSACT_WRITE = 'TransactWriteItemsCommand'

function writesOf(command: string, input: object): Write[] {
  if (command === TRANSACT_WRITE) {
    const { TransactItems } = input as { TransactItems: Array<Record<string, Write>> }
    return TransactItems.flatMap((action) => Object.values(action))
  }
  if (['PutItemCommand', 'UpdateItemCommand', 'DeleteItemCommand'].includes(command)) return [input as Write]
  if (command === 'BatchWriteItemCommand') throw new Error('The meter does not know the units of BatchWriteItem.')
  return []
}

/** The item as the wire carries it. Bytes within lists and maps, which this table has none of, are not converted. */
function toWire(item: Item): WireItem {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [
      name,
      value.B ? { B: Buffer.from(value.B).toString('base64') } : (value as WireItem[string]),
    ]),
  )
}
