// dynalite ships no types; these are the parts of it that the front calls.

declare module 'dynalite/db/index.js' {
  import type { JsonObject, TableDefinition, WireItem, WireValue } from './types.ts'

  type Operands = WireValue | undefined | (WireValue | undefined)[]
  type Callback = (error: Error | null, value?: unknown) => void

  interface KeyValueIterator {
    nextv(size: number): Promise<unknown[]>
    close(): Promise<void>
  }

  /** The LevelDB database: in memory or in a folder, with JSON values. */
  interface KeyValueDb {
    open(): Promise<void>
    close(): Promise<void>
    getSync(key: string): unknown
    batch(changes: import('./store.ts').Change[]): Promise<void>
    values(range: object): KeyValueIterator
  }

  interface Store {
    options: { maxItemSize: number }
    db: KeyValueDb
  }

  interface Db {
    create(options: {
      path?: string | undefined
      createTableMs: number
      deleteTableMs: number
      updateTableMs: number
    }): Store
    itemSize(item: WireItem): number
    validateKey(key: WireItem, table: TableDefinition, schema?: unknown): Error | null | undefined
    validateItem(item: WireItem, table: TableDefinition): Error | null | undefined
    checkConditional(request: JsonObject, item: WireItem | undefined): Error | null | undefined
    /** Its result is a boolean, or a number that counts as one. */
    compare(operator: string, value: WireValue | undefined, others: Operands): unknown
    mapPaths(paths: unknown[], item: WireItem): WireItem
  }
  const db: Db
  export default db
  export type { Callback, Db, KeyValueDb, KeyValueIterator, Store }
}

declare module 'dynalite/validations/index.js' {
  interface Validations {
    checkTypes(data: object, types: object): import('./types.ts').JsonObject
    checkValidations(data: object, types: object, custom: unknown, store: object): void
    validateAttributeValue(value: import('./types.ts').WireValue): string | undefined
  }
  const validations: Validations
  export default validations
}
