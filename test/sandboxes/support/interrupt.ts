import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { cancelled, serviceError, timeout } from '../../store/support/faults.ts'
import type { Clients } from '../../sweep/support/scope-under-sweep.ts'

/**
 * What befalls one request: it is refused, carried out with its answer lost, or it is the last before the process ends,
 * carried out or not.
 */
export const INTERRUPTIONS = ['throttled', 'conflict', 'lost', 'killed before', 'killed after'] as const
export type Interruption = (typeof INTERRUPTIONS)[number]

export class KilledError extends Error {}

/** Lets an interruption befall the n-th request (from 1) of clients that nobody else has. */
export function interrupt({ dynamodb, s3 }: Clients, n: number, how: Interruption) {
  const counter = { requests: 0 }
  let killed = false
  for (const { middlewareStack } of [dynamodb, s3 as unknown as DynamoDBClient]) {
    middlewareStack.add(
      (next, context) => async (args) => {
        if (killed) throw new KilledError('killed')
        counter.requests += 1
        if (counter.requests !== n) return next(args)
        const isTransaction = context.commandName === 'TransactWriteItemsCommand'
        if (how === 'throttled') throw serviceError('ThrottlingException', 400)
        if (how === 'conflict' && isTransaction) throw cancelled('None', 'TransactionConflict')
        if (how === 'conflict') throw serviceError('InternalServerError', 500)
        killed = how.startsWith('killed')
        if (how !== 'killed before') await next(args)
        throw killed ? new KilledError('killed') : timeout()
      },
      { name: 'interrupt', step: 'initialize', priority: 'low' },
    )
  }
  return counter
}
