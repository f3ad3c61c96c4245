import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { UnavailableError } from '../errors.ts'
import type { Table, TransactAction } from '../table/table.ts'
import { CONTENDED_ATTEMPTS, retryTransient } from '../table/transient.ts'

const MAX_ATTEMPTS = 64
const MAX_DELAY_MS = 100

/** What is to be written, and what the write answers; without actions it has been done before. */
export interface Plan<Result> {
  actions?: TransactAction[]
  result: Result
}

/**
 * Writes a plan in one transaction; plans anew, from what is there by then, when others have written what it rests on.
 * A transaction whose answer was lost is sent again as it was, with its token: DynamoDB tells when it has landed.
 * @param plan must read whatever it decides on
 * @throws UnavailableError when the storage stays busy; what `plan` throws
 */
export async function commit<Result>(table: Table, plan: () => Promise<Plan<Result>>): Promise<Result> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const { actions, result } = await plan()
    if (!actions) return result
    const token = randomUUID()
    const { done } = await retryTransient(() => table.transact(actions, token), CONTENDED_ATTEMPTS)
    if (done) return result
    await sleep(Math.random() * Math.min(MAX_DELAY_MS, 2 ** attempt))
  }
  throw new UnavailableError('The task is written to by too many at once. Try again.')
}
