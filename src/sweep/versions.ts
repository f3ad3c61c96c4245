import { ListObjectVersionsCommand, type S3Client } from '@aws-sdk/client-s3'
import { deleteObjects } from '../blobs/delete-objects.ts'
import { retryTransient } from '../table/transient.ts'
import type { Condemned } from './pages.ts'
import type { ListedVersion } from './protocol.ts'

/** DeleteObjects takes so many keys. */
const DELETE_LIMIT = 1_000

/** What S3 would not delete, and its reason. */
export interface DeleteFailure {
  key: string
  reason: string
}

interface VersionFailure extends DeleteFailure {
  versionId: string
}

/** The versions of the objects whose keys begin with `root`; keys are given without it. Counts its requests. */
export class Versions {
  readonly #s3: S3Client
  readonly #bucketName: string
  readonly #root: string
  lists = 0
  deletes = 0

  constructor(s3: S3Client, bucketName: string, root: string) {
    this.#s3 = s3
    this.#bucketName = bucketName
    this.#root = root
  }

  /** All versions after those of the key `after`, in the order of the keys, a page (1,000) at a time. */
  async *list(after?: string): AsyncGenerator<ListedVersion[]> {
    let keyMarker = after === undefined ? undefined : this.#root + after
    let versionMarker: string | undefined
    do {
      const command = new ListObjectVersionsCommand({
        Bucket: this.#bucketName,
        Prefix: this.#root,
        KeyMarker: keyMarker,
        VersionIdMarker: versionMarker,
      })
      const page = await retryTransient(() => this.#s3.send(command))
      this.lists += 1
      // Delete markers hide versions: they are listed with them, of no bytes.
      const listed = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].map((version) => ({
        key: (version.Key ?? '').slice(this.#root.length),
        versionId: version.VersionId ?? 'null',
        size: 'Size' in version && typeof version.Size === 'number' ? version.Size : 0,
        uploadedAt: version.LastModified?.getTime() ?? 0,
        current: version.IsLatest ?? false,
        marker: !('Size' in version),
      }))
      yield page.DeleteMarkers?.length
        ? listed.sort((left, right) => (left.key < right.key ? -1 : Number(left.key > right.key)))
        : listed
      keyMarker = page.IsTruncated ? page.NextKeyMarker : undefined
      versionMarker = page.NextVersionIdMarker
    } while (keyMarker !== undefined)
  }

  /** Deletes just these versions; one that is gone is no failure. Tries all, and tells which S3 would not delete. */
  async delete(entries: readonly Condemned[]): Promise<VersionFailure[]> {
    const failures: VersionFailure[] = []
    for (let start = 0; start < entries.length; start += DELETE_LIMIT) {
      failures.push(...(await this.#deleteSome(entries.slice(start, start + DELETE_LIMIT))))
    }
    return failures
  }

  async #deleteSome(entries: readonly Condemned[]): Promise<VersionFailure[]> {
    const errors = await deleteObjects({
      s3: this.#s3,
      bucketName: this.#bucketName,
      objects: entries.map(({ key, versionId }) => ({ Key: this.#root + key, VersionId: versionId })),
      onAnswer: () => {
        this.deletes += 1
      },
    })
    return errors.map(({ Key = '', VersionId = '', Code = '', Message = '' }) => ({
      key: Key.slice(this.#root.length),
      versionId: VersionId,
      reason: `${Code}: ${Message}`,
    }))
  }
}
