/** One attribute value as DynamoDB's JSON protocol carries it; exactly one member is set in a valid value. */
export interface WireValue {
  S?: string
  N?: string
  B?: string
  BOOL?: boolean
  NULL?: boolean
  SS?: string[]
  NS?: string[]
  BS?: string[]
  L?: WireValue[]
  M?: WireItem
}

/** An item, or a key, by attribute name. */
export type WireItem = { [attribute: string]: WireValue }

/** A request or answer body before it is validated. */
export type JsonObject = { [name: string]: unknown }

/** What the engine keeps of a table's definition, as far as the front reads it. */
export interface TableDefinition {
  TableName: string
  TableStatus: string
  KeySchema: { AttributeName: string; KeyType: string }[]
  AttributeDefinitions: { AttributeName: string; AttributeType: string }[]
  GlobalSecondaryIndexes?: { IndexStatus: string }[]
}
