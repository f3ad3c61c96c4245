import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'

let counters = 0

/** The names of the commands that a client sends, as `names`, until it is disposed of. */
export function countRequests(client: DynamoDBClient) {
  const names: string[] = []
  const name = `count-${++counters}`
  client.middlewareStack.add(
    (next, context) => (args) => {
      names.push(String(context.commandName))
      return next(args)
    },
    { name, step: 'initialize' },
  )
  return {
    names,
    [Symbol.dispose]() {
      client.middlewareStack.remove(name)
    },
  }
}
