import { createHash } from 'node:crypto'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import pMap from 'p-map'
import { BlobHashMismatchError, InvalidInputError } from '../errors.ts'
import { EXCHANGE_LIMIT, MAX_BLOB_BYTES } from '../limits.ts'
import { noteOrigin } from '../own-stores.ts'
import { type DeletedBlobs, deleteBlobs } from '../sweep/delete-blobs.ts'
import { Pages } from '../sweep/pages.ts'
import { isPresent, uploadReplaces } from '../sweep/protocol.ts'
import { Table } from '../table/table.ts'
import { retryTransient, TransientError } from '../table/transient.ts'
import { parseScope, type Scope } from '../tenancy/scope.ts'
import { blobHash, checkPrefix } from './keys.ts'
import { lookUp } from './look-up.ts'
import { blobObjectKey, blobObjectPrefix } from './object-keys.ts'
import { presignGet, presignPut } from './presign.ts'
import type { BlobBody, BlobBulk, BlobExchange, BlobInfo, BlobStore, PresignedRequest } from './types.ts'

export interface BlobStoreConfig {
  dynamodb: DynamoDBClient
  s3: S3Client
  tableName: string
  bucketName: string
  scope: Scope
  /** Milliseconds since the epoch, by the clock of the writer leases. Default `Date.now`. */
  now?: (() => number) | undefined
}

/** How many requests of an exchange are signed at a time. */
const SIGN_CONCURRENCY = 64

/**
 * The blobs of one scope, over S3. Every blob lies under the key that its SHA-256 makes.
 * @throws InvalidInputError when the scope's names are none.
 */
export function createBlobStore(config: BlobStoreConfig): BlobStore & BlobExchange & BlobBulk {
  return noteOrigin(new S3BlobStore(config), config)
}

class S3BlobStore implements BlobStore, BlobExchange, BlobBulk {
  readonly #s3: S3Client
  readonly #bucketName: string
  readonly #scope: Scope
  readonly #table: Table
  readonly #now: () => number
  /** What the sweep has condemned. It is asked before the bucket: what is on no page then, and stored after, stays. */
  readonly #pages: Pages

  constructor({ dynamodb, s3, tableName, bucketName, scope, now = Date.now }: BlobStoreConfig) {
    this.#s3 = s3
    this.#bucketName = bucketName
    this.#scope = parseScope(scope.tenant, scope.project)
    this.#table = new Table(dynamodb, tableName)
    this.#now = now
    this.#pages = new Pages(this.#table, this.#scope, 'blobs')
  }

  async get(key: string): Promise<BlobBody | null> {
    blobHash(key)
    return retryTransient(async () => {
      try {
        const { Body, ContentLength = 0 } = await this.#s3.send(new GetObjectCommand(this.#object(key)))
        if (!Body) throw new TransientError('S3 answered without a body.')
        return {
          size: ContentLength,
          arrayBuffer: async () => exactBuffer(await Body.transformToByteArray()),
          stream: () => Body.transformToWebStream() as ReadableStream<Uint8Array>,
        }
      } catch (error) {
        if (error instanceof NoSuchKey) return null
        throw error
      }
    })
  }

  async head(key: string): Promise<BlobInfo | null> {
    blobHash(key)
    const condemned = await this.#pages.condemnedAmong([key])
    const info = await this.#stat(key)
    return isPresent(info !== null, condemned.has(key)) ? info : null
  }

  async headAll(keys: ReadonlyArray<string>): Promise<Array<BlobInfo | null>> {
    checkExchange(keys.length, 'keys')
    for (const [index, key] of keys.entries()) blobHash(key, `keys[${index}]`)
    const condemned = await this.#pages.condemnedAmong(keys)
    const stored = await this.#statAll(keys)
    return keys.map((key) => (isPresent(stored.has(key), condemned.has(key)) ? (stored.get(key) ?? null) : null))
  }

  /** What the bucket has under a key, condemned or not. */
  async #stat(key: string): Promise<BlobInfo | null> {
    return retryTransient(async () => {
      try {
        const { ContentLength = 0, LastModified } = await this.#s3.send(new HeadObjectCommand(this.#object(key)))
        return { key, size: ContentLength, uploadedAt: LastModified?.getTime() ?? 0 }
      } catch (error) {
        if (error instanceof NotFound) return null
        throw error
      }
    })
  }

  async put(key: string, body: Uint8Array): Promise<void> {
    const expected = blobHash(key)
    const hash = createHash('sha256').update(body).digest()
    const actual = hash.toString('hex')
    if (actual !== expected) throw new BlobHashMismatchError(key, actual)
    const condemned = await this.#pages.condemnedAmong([key])
    const command = new PutObjectCommand({
      ...this.#object(key),
      Body: body,
      ContentType: 'application/octet-stream',
      ChecksumSHA256: hash.toString('base64'),
      ...(!uploadReplaces(condemned.has(key)) && { IfNoneMatch: '*' }),
    })
    await retryTransient(async () => {
      try {
        await this.#s3.send(command)
      } catch (error) {
        const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
        // The same content is there already, perhaps by an attempt of this very call whose answer was lost.
        if (status === 412) return
        if (status === 409) throw new TransientError('The blob is being written by another.', { cause: error })
        throw error
      }
    })
  }

  async list(prefix: string): Promise<BlobInfo[]> {
    checkPrefix(prefix)
    const found: BlobInfo[] = []
    let token: string | undefined
    do {
      const page = await this.#page({ prefix, token })
      found.push(...page.blobs)
      token = page.token
    } while (token !== undefined)
    return found
  }

  async #page({ prefix = '', token, after }: { prefix?: string; token?: string | undefined; after?: string }) {
    const root = blobObjectPrefix(this.#scope)
    const input = {
      Bucket: this.#bucketName,
      Prefix: root + prefix,
      ContinuationToken: token,
      ...(after !== undefined && { StartAfter: root + after }),
    }
    const page = await retryTransient(() => this.#s3.send(new ListObjectsV2Command(input)))
    const blobs = (page.Contents ?? []).map(({ Key = '', Size = 0, LastModified }) => ({
      key: Key.slice(root.length),
      size: Size,
      uploadedAt: LastModified?.getTime() ?? 0,
    }))
    return { blobs, token: page.NextContinuationToken }
  }

  /** What the bucket has under each of the keys, condemned or not. */
  #statAll(keys: readonly string[]): Promise<Map<string, BlobInfo>> {
    const page = async (after: string) => {
      const { blobs, token } = await this.#page({ after })
      return { blobs, ended: token === undefined }
    }
    return lookUp({ page, stat: (key) => this.#stat(key) }, keys)
  }

  async delete(key: string): Promise<void> {
    await this.deleteAll([key])
  }

  async deleteAll(keys: readonly string[]): Promise<DeletedBlobs> {
    for (const key of keys) blobHash(key)
    const stores = { table: this.#table, s3: this.#s3, bucketName: this.#bucketName, scope: this.#scope }
    return deleteBlobs({ ...stores, now: this.#now }, keys)
  }

  async prepareUploads(
    blobs: ReadonlyArray<{ key: string; size: number }>,
  ): Promise<Array<{ key: string; upload: PresignedRequest }>> {
    checkExchange(blobs.length, 'blobs')
    const sizes = new Map<string, number>()
    for (const [index, { key, size }] of blobs.entries()) {
      blobHash(key, `blobs[${index}].key`)
      const known = sizes.get(key)
      if (!Number.isSafeInteger(size) || size < 0 || size > MAX_BLOB_BYTES || (known ?? size) !== size) {
        throw new InvalidInputError(
          `blobs[${index}].size`,
          `blobs[${index}].size must be the bytes of the blob, an integer from 0 to ${MAX_BLOB_BYTES}.`,
        )
      }
      sizes.set(key, size)
    }
    const condemned = await this.#pages.condemnedAmong([...sizes.keys()])
    const stored = await this.#statAll([...sizes.keys()])
    const missing = [...sizes].filter(([key]) => !isPresent(stored.has(key), condemned.has(key)))
    return pMap(missing, ([key, size]) => this.#prepareUpload(key, size, condemned.has(key)), {
      concurrency: SIGN_CONCURRENCY,
    })
  }

  async prepareDownloads(
    keys: ReadonlyArray<string>,
  ): Promise<Array<{ key: string; size: number; download: PresignedRequest } | { key: string; download: null }>> {
    checkExchange(keys.length, 'keys')
    for (const [index, key] of keys.entries()) blobHash(key, `keys[${index}]`)
    const stored = await this.#statAll(keys)
    return pMap(
      keys,
      async (key) => {
        const info = stored.get(key)
        if (!info) return { key, download: null }
        const download = await presignGet({
          s3: this.#s3,
          bucketName: this.#bucketName,
          objectKey: this.#objectKey(key),
        })
        return { key, size: info.size, download }
      },
      { concurrency: SIGN_CONCURRENCY },
    )
  }

  async #prepareUpload(
    key: string,
    size: number,
    condemned: boolean,
  ): Promise<{ key: string; upload: PresignedRequest }> {
    const upload = await presignPut({
      s3: this.#s3,
      bucketName: this.#bucketName,
      objectKey: this.#objectKey(key),
      size,
      sha256Hex: blobHash(key),
      ...(!uploadReplaces(condemned) && { ifNoneMatch: '*' as const }),
    })
    return { key, upload }
  }

  #objectKey(key: string): string {
    return blobObjectKey(this.#scope, key)
  }

  #object(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucketName, Key: this.#objectKey(key) }
  }
}

function checkExchange(count: number, field: string): void {
  if (count >= 1 && count <= EXCHANGE_LIMIT) return
  throw new InvalidInputError(field, `${field} must have 1 to ${EXCHANGE_LIMIT} members.`)
}

function exactBuffer(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer
}
