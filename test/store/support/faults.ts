import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb'
import type { S3Client } from '@aws-sdk/client-s3'

/** What becomes of one command: `send` carries it out. */
export type Fault = (send: () => Promise<unknown>, input: Record<string, unknown>) => Promise<unknown>

let injected = 0

/**
 * Lets the faults befall the next commands of a name that a client is given, one each, outside of the SDK's own
 * retries. `seen` counts all commands of the name.
 */
export function injectFaults(client: DynamoDBClient | S3Client, command: string, faults: Fault[]) {
  const waiting = [...faults]
  const name = `faults-${++injected}`
  const counts = { seen: 0 }
  const stack = client.middlewareStack as DynamoDBClient['middlewareStack']
  stack.add(
    (next, context) => async (args) => {
      if (context.commandName !== `${command}Command`) return next(args)
      counts.seen += 1
      const fault = waiting.shift()
      const send = () => next(args)
      return (fault ? fault(send, args.input as unknown as Record<string, unknown>) : send()) as ReturnType<typeof next>
    },
    { name, step: 'initialize', priority: 'low' },
  )
  return {
    get seen() {
      return counts.seen
    },
    get left() {
      return waiting.length
    },
    [Symbol.dispose]() {
      stack.remove(name)
    },
  }
}

/** The command is not carried out. */
export function refuse(error: () => Error): Fault {
  return async () => {
    throw error()
  }
}

/** The command is carried out, and its answer is lost. */
export function loseAnswer(error: () => Error = timeout): Fault {
  return async (send) => {
    await send()
    throw error()
  }
}

/** Something else happens before the command is carried out. */
export function after(work: () => Promise<unknown>): Fault {
  return async (send) => {
    await work()
    return send()
  }
}

/** An error as the SDK makes it of an answer. */
export function serviceError(name: string, status: number): Error {
  return Object.assign(new Error(`injected ${name}`), { name, $metadata: { httpStatusCode: status, attempts: 1 } })
}

export function timeout(): Error {
  return Object.assign(new Error('injected timeout'), { name: 'TimeoutError' })
}

export function connectionReset(): Error {
  return Object.assign(new Error('injected reset'), { code: 'ECONNRESET' })
}

/** A cancelled transaction with these reasons. */
export function cancelled(...codes: string[]): Error {
  return new TransactionCanceledException({
    message: `injected [${codes.join(', ')}]`,
    CancellationReasons: codes.map((Code) => ({ Code })),
    $metadata: { httpStatusCode: 400, attempts: 1 },
  })
}
