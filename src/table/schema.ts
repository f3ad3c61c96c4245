import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb'

/** The attributes of the one table that DynamoDB itself knows. */
export const TABLE = { partitionKey: 'pk', sortKey: 'sk', ttl: 'ttl' } as const

/** What CreateTable needs to make the table outside of the stack (local engines, tests). */
export function createTableInput(tableName: string): CreateTableCommandInput {
  return {
    TableName: tableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      { AttributeName: TABLE.partitionKey, AttributeType: 'S' },
      { AttributeName: TABLE.sortKey, AttributeType: 'S' },
    ],
    KeySchema: [
      { AttributeName: TABLE.partitionKey, KeyType: 'HASH' },
      { AttributeName: TABLE.sortKey, KeyType: 'RANGE' },
    ],
  }
}
