import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { assertBucketName } from './operations/buckets.ts'
import { createS3Server } from './server.ts'
import { type Credentials, Signer } from './signature.ts'
import { Catalog } from './storage/catalog.ts'
import { FolderPieces, FolderRecords } from './storage/folder.ts'
import { lockFolder } from './storage/folder-lock.ts'
import { MemoryPieces, noRecords } from './storage/memory.ts'

export interface S3Options {
  /** 0, the default, takes any free port. */
  port?: number
  /** Keeps the objects in this folder, where the next start finds them again. In memory without it. */
  dir?: string
  /** The one key that requests may be signed with. */
  credentials: Credentials
  /** The region that signatures must name; us-east-1 if left out. */
  region?: string
  /**
   * Milliseconds since the epoch. A request that was signed more than 15 minutes off this clock is refused, as S3 does; the
   * answers' Date tells the SDK how far, and its next attempt fits.
   */
  now?: () => number
  /** Created at the start where they are missing. */
  buckets?: readonly string[]
}

export interface S3Server {
  /** `http://127.0.0.1:PORT`; addresses are path-style. */
  endpoint: string
  port: number
  /** Ends all connections, waits for the work in hand and frees the folder. What was answered as written stays. */
  stop(): Promise<void>
}

/**
 * Starts a server on 127.0.0.1 that speaks the S3 REST API: objects with conditional writes and checksums, lists, multipart
 * uploads, presigned requests and forms, versions, tags, CORS. Every request must be signed (SigV4). Lifecycle rules are
 * stored and returned, but nothing expires by them. After a kill of the process, at any instant, each object in the
 * folder is the old one or the new one, whole; files are not synced to the disk, so this does not cover a power cut.
 * @throws Error when the port is taken, or another process serves the folder
 */
export async function startS3(options: S3Options): Promise<S3Server> {
  const { port = 0, dir, credentials, region = 'us-east-1', now = Date.now, buckets = [] } = options
  for (const name of buckets) assertBucketName(name)
  let unlock = () => {
    // Memory is nobody else's.
  }
  if (dir !== undefined) {
    mkdirSync(dir, { recursive: true })
    unlock = lockFolder(dir)
  }
  try {
    const catalog = await (dir === undefined
      ? Catalog.open(noRecords, new MemoryPieces())
      : Catalog.open(new FolderRecords(dir), new FolderPieces(dir)))
    for (const name of buckets) {
      if (!catalog.has(name)) await catalog.saveBucket({ name, created: now(), documents: {} })
    }
    const { server, close } = createS3Server({ catalog, signer: new Signer(credentials, region), region, now })
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('The server has no port')
    return {
      endpoint: `http://127.0.0.1:${address.port}`,
      port: address.port,
      stop: async () => {
        await close()
        unlock()
      },
    }
  } catch (error) {
    unlock()
    throw error
  }
}
