import { setTimeout as sleep } from 'node:timers/promises'
import type { DynamoDBClient, TransactWriteItem } from '@aws-sdk/client-dynamodb'
import { cancelled } from '../../store/support/faults.ts'
import type { Engines } from '../../support/engines.ts'
import { ownClients } from '../../sweep/support/scope-under-sweep.ts'

/** As long as a transaction of DynamoDB takes. */
const HELD_MS = 8

/**
 * A client whose table refuses a transaction, of writes or of reads, that meets an item which another transaction of
 * writes holds, as DynamoDB does; the engines carry out one after the other.
 */
export function contendedClient(engines: Engines): { dynamodb: DynamoDBClient; conflicts: () => number } {
  const { dynamodb } = ownClients(engines)
  const held = new Set<string>()
  let conflicts = 0
  dynamodb.middlewareStack.add(
    (next, context) => async (args) => {
      if (!/^Transact(Get|Write)ItemsCommand$/.test(context.commandName ?? '')) return next(args)
      const { TransactItems = [] } = args.input as { TransactItems?: TransactWriteItem[] }
      const keys = TransactItems.map((action) => {
        const [{ Item, Key } = {}] = Object.values(action) as Array<{ Item?: object; Key?: object }>
        const { pk, sk } = (Key ?? Item ?? {}) as { pk?: object; sk?: object }
        return JSON.stringify([pk, sk])
      })
      if (keys.some((key) => held.has(key))) {
        conflicts += 1
        throw cancelled(...keys.map((key) => (held.has(key) ? 'TransactionConflict' : 'None')))
      }
      if (context.commandName === 'TransactGetItemsCommand') return next(args)
      for (const key of keys) held.add(key)
      try {
        await sleep(HELD_MS)
        return await next(args)
      } finally {
        for (const key of keys) held.delete(key)
      }
    },
    { name: 'contention', step: 'initialize', priority: 'low' },
  )
  return { dynamodb, conflicts: () => conflicts }
}
