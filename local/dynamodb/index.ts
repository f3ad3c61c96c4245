import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Engine } from './engine.ts'
import { createDynamoDbServer } from './server.ts'

/** A running local DynamoDB. */
export interface LocalDynamoDb {
  /** The URL to give to a client. */
  endpoint: string
  port: number
  /** Ends all connections and closes the database. */
  stop(): Promise<void>
}

/**
 * Starts a DynamoDB on 127.0.0.1 in this process, with DynamoDB's transactions, conditions and limits.
 *
 * @param options.port the port to listen on; any free one by default
 * @param options.dir a folder that keeps the data, for one process at a time; in memory by default
 * @param options.now the clock of idempotency tokens, in milliseconds since 1970
 * @throws Error with a `code` when the port is in use or the folder cannot be opened
 */
export async function startDynamoDb(
  options: { port?: number; dir?: string; now?: () => number } = {},
): Promise<LocalDynamoDb> {
  const engine = await Engine.open(options.dir, options.now ?? Date.now)
  const server = createDynamoDbServer(engine)
  try {
    server.listen(options.port ?? 0, '127.0.0.1')
    await once(server, 'listening')
  } catch (error) {
    await engine.close()
    throw error
  }
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}`,
    port,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      await engine.close()
    },
  }
}
