import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb'
import { PRICES } from '../../src/cost/prices.ts'

/** What a client has asked of DynamoDB and S3, as they were asked: repeats of the SDK count too. */
export interface Used {
  tableRequests: number
  readUnits: number
  writeUnits: number
  puts: number
  gets: number
  /** Bodies of requests and answers. */
  bytes: number
}

/** An SDK client of either service, of whatever copy of the SDK: two copies have two types of one thing. */
export interface AnyClient {
  middlewareStack: { add(middleware: never, options: never): void }
}

type Next = (args: { input: object; request: { headers: Headers } }) => Promise<Result>
type Headers = Record<string, string | undefined>

interface Result {
  output: { ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[] }
  response: { headers: Headers }
}

interface Context {
  clientName: string
  commandName: string
}

const READS = /^(Get|BatchGet|TransactGet|Query|Scan)/

/** Counts what clients use; DynamoDB itself says how many units a request took. */
export class ClientMeter {
  #used = none()

  watch(...clients: AnyClient[]): void {
    for (const { middlewareStack } of clients) {
      middlewareStack.add(this.#askForUnits as never, { step: 'initialize' } as never)
      middlewareStack.add(this.#count as never, { step: 'deserialize', priority: 'low' } as never)
    }
  }

  take(): Used {
    const used = this.#used
    this.#used = none()
    return used
  }

  readonly #askForUnits =
    (next: Next, { clientName, commandName }: Context): Next =>
    async (args) => {
      if (clientName !== 'DynamoDBClient') return next(args)
      const result = await next({ ...args, input: { ...args.input, ReturnConsumedCapacity: 'TOTAL' } })
      const consumed = [result.output.ConsumedCapacity ?? []].flat()
      const units = consumed.reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0)
      this.#used[READS.test(commandName) ? 'readUnits' : 'writeUnits'] += units
      return result
    }

  readonly #count =
    (next: Next, { clientName, commandName }: Context): Next =>
    async (args) => {
      this.#used.bytes += Number(args.request.headers['content-length'] ?? 0)
      if (clientName === 'DynamoDBClient') this.#used.tableRequests += 1
      else if (/^(Get|Head)/.test(commandName)) this.#used.gets += 1
      else if (!commandName.startsWith('Delete')) this.#used.puts += 1
      const result = await next(args)
      this.#used.bytes += Number(result.response.headers['content-length'] ?? 0)
      return result
    }
}

function none(): Used {
  return { tableRequests: 0, readUnits: 0, writeUnits: 0, puts: 0, gets: 0, bytes: 0 }
}

export function costOf({ readUnits, writeUnits, puts, gets }: Omit<Used, 'tableRequests' | 'bytes'>): number {
  return readUnits * PRICES.readUnit + writeUnits * PRICES.writeUnit + puts * PRICES.s3Write + gets * PRICES.s3Read
}
