import { AsyncLocalStorage } from 'node:async_hooks'
import type { ConsumedCapacity, DynamoDBClient } from '@aws-sdk/client-dynamodb'

/** What one request has cost at the table. */
export interface Capacity {
  requests: number
  /** Read and write units together; one transactional write of 1 KB is 2. */
  units: number
}

const ofRequest = new AsyncLocalStorage<Capacity>()

/** Runs the work and counts what it asks of a client that is metered. */
export function countingCapacity<T>(work: () => T): T {
  return ofRequest.run({ requests: 0, units: 0 }, work)
}

/** What has been counted so far for the work that this is called in. */
export function capacitySoFar(): Capacity | undefined {
  return ofRequest.getStore()
}

/** Has every answer of the client say what it cost. @returns the client */
export function metered(dynamodb: DynamoDBClient): DynamoDBClient {
  dynamodb.middlewareStack.add(
    (next) => async (args) => {
      const capacity = ofRequest.getStore()
      if (!capacity) return next(args)
      const result = await next({ ...args, input: { ReturnConsumedCapacity: 'TOTAL', ...args.input } })
      const { ConsumedCapacity: consumed } = result.output as {
        ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[]
      }
      capacity.requests += 1
      for (const { CapacityUnits = 0 } of [consumed ?? []].flat()) capacity.units += CapacityUnits
      return result
    },
    { step: 'initialize', name: 'countCapacity' },
  )
  return dynamodb
}
