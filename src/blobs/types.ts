/** A blob as `head` and `list` tell it. */
export interface BlobInfo {
  /** `sandbox-files/sha256/<hex>` or `sandbox-artifacts/sha256/<hex>` */
  key: string
  /** Bytes. */
  size: number
  /** Milliseconds since the epoch, by the bucket's clock. */
  uploadedAt: number
}

/** The bytes of a blob; read once, by one of the two. */
export interface BlobBody {
  readonly size: number
  arrayBuffer(): Promise<ArrayBuffer>
  stream(): ReadableStream<Uint8Array>
}

/** A request that the holder may send to S3 as it stands, without credentials of its own. */
export interface PresignedRequest {
  method: 'GET' | 'PUT'
  url: string
  /** Send exactly these. */
  headers: Record<string, string>
  /** Milliseconds since the epoch. */
  expiresAt: number
}

export interface BlobStore {
  /** The blob, or null. */
  get(key: string): Promise<BlobBody | null>
  head(key: string): Promise<BlobInfo | null>
  /**
   * Stores the bytes under the key that their hash makes. Storing what is there already succeeds.
   * @throws BlobHashMismatchError when the bytes do not hash to the key.
   */
  put(key: string, body: Uint8Array): Promise<void>
  /** All blobs whose key starts with the prefix, by the UTF-8 bytes of the key. */
  list(prefix: string): Promise<BlobInfo[]>
  /**
   * Deletes a blob that no checkpoint uses; a missing one is no error. While a writer lease is live the blob only counts
   * as missing, and goes with a later sweep.
   * @throws ConflictError `blob_in_use` when a checkpoint uses it.
   */
  delete(key: string): Promise<void>
}

/** Many blobs at once. */
export interface BlobBulk {
  /** What `head` gives for each of up to 1,000 keys, in their order. */
  headAll(keys: ReadonlyArray<string>): Promise<Array<BlobInfo | null>>
  /** Deletes up to 1,000 blobs, or none, as `delete` does. `waiting`: what goes with a later sweep. */
  deleteAll(keys: ReadonlyArray<string>): Promise<{ deleted: string[]; waiting: string[] }>
}

/** Bulk exchange with presigned requests: the way that many or large blobs take, straight between the caller and S3. */
export interface BlobExchange {
  /** Which of up to 1,000 blobs are missing, with an upload for each of those. In the order of the request. */
  prepareUploads(
    blobs: ReadonlyArray<{ key: string; size: number }>,
  ): Promise<Array<{ key: string; upload: PresignedRequest }>>
  /** A download for each of up to 1,000 keys that is there; null for the others. In the order of the request. */
  prepareDownloads(
    keys: ReadonlyArray<string>,
  ): Promise<Array<{ key: string; size: number; download: PresignedRequest } | { key: string; download: null }>>
}
