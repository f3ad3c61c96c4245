import { BatchWriteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Key } from '../../../src/table/keys.ts'
import type { Item } from '../../../src/table/table.ts'
import type { Engines } from '../../support/engines.ts'

/** Puts many items as they are: copies of such as the store has written, to have many soon. */
export async function putItems(engines: Engines, items: ReadonlyArray<Item & Key>): Promise<void> {
  const client = DynamoDBDocumentClient.from(engines.dynamodb)
  for (let start = 0; start < items.length; start += 25) {
    const requests = items.slice(start, start + 25).map((item) => ({ PutRequest: { Item: item } }))
    await client.send(new BatchWriteCommand({ RequestItems: { [engines.tableName]: requests } }))
  }
}
