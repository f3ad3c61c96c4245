import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Engines } from '../../support/engines.ts'

let kills = 0

/**
 * From request number `at` on (from 1) nothing comes through any more, as when the process is killed there: before the
 * request is sent, or when it is carried out and its answer is on its way.
 */
export function killAt({ dynamodb, s3 }: Engines, at: number, when: 'before' | 'after') {
  const name = `kill-${++kills}`
  let requests = 0
  const stacks = [dynamodb, s3 as unknown as DynamoDBClient].map(({ middlewareStack }) => middlewareStack)
  for (const stack of stacks) {
    stack.add(
      (next) => async (args) => {
        requests += 1
        if (requests < at) return next(args)
        if (requests === at && when === 'after') await next(args)
        throw new Error('killed')
      },
      { name, step: 'finalizeRequest', priority: 'low' },
    )
  }
  return {
    /** Whether it came to the request. */
    get reached() {
      return requests >= at
    },
    [Symbol.dispose]() {
      for (const stack of stacks) stack.remove(name)
    },
  }
}
