// Writes numbered transactions into the folder of its first argument, several at a time, and prints each completed one,
// until it is killed. The second argument is the number to start with.
import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { startDynamoDb } from '../../../local/dynamodb/index.ts'
import { connect } from './engine-client.ts'

const [dir = '', first = '0'] = process.argv.slice(2)
const { endpoint } = await startDynamoDb({ dir })
const { doc } = connect(endpoint)

// Large enough that the database writes a transaction to its log in several pieces.
const body = 'x'.repeat(60_000)
let next = Number(first)

async function write(): Promise<void> {
  for (;;) {
    const number = next++
    await doc.send(
      new TransactWriteCommand({
        TransactItems: ['a', 'b', 'c', 'd'].map((sk) => ({
          Put: { TableName: 'kill', Item: { pk: `transaction-${number}`, sk, body } },
        })),
      }),
    )
    process.stdout.write(`${number}\n`)
  }
}

await Promise.all([write(), write(), write()])
