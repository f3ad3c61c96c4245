import { createHash } from 'node:crypto'
import { blobHash } from '../src/blobs/keys.ts'
import type { BlobBody, BlobExchange, BlobInfo, BlobStore, PresignedRequest } from '../src/blobs/types.ts'
import { BlobHashMismatchError } from '../src/errors.ts'
import { blobBody } from './blob-body.ts'
import { openPresigned, type PresignedJson, putPresigned, readPresigned } from './storage.ts'
import type { Transport } from './transport.ts'

interface BlobJson {
  key: string
  size_bytes: number
  uploaded_at: string
}

type UploadJson = PresignedJson & { key: string }
type DownloadJson = PresignedJson & { key: string; size_bytes: number }

/** The blob store over the API: bytes go straight between here and S3. */
export class ClientBlobStore implements BlobStore, BlobExchange {
  readonly #transport: Transport
  readonly #base: string

  constructor(transport: Transport, base: string) {
    this.#transport = transport
    this.#base = base
  }

  async get(key: string): Promise<BlobBody | null> {
    blobHash(key)
    const [found] = await this.prepareDownloads([key])
    if (!found?.download) return null
    const response = await openPresigned(this.#transport.settings, found.download)
    return response && blobBody(found.download.url, found.size, response.body)
  }

  async head(key: string): Promise<BlobInfo | null> {
    blobHash(key)
    const { blobs } = await this.#call<{ blobs: BlobJson[] }>('/head', { keys: [key] }, 'blobs')
    return blobs.map(readInfo).find((info) => info.key === key) ?? null
  }

  async put(key: string, body: Uint8Array): Promise<void> {
    const expected = blobHash(key)
    const hash = createHash('sha256').update(body).digest('hex')
    if (hash !== expected) throw new BlobHashMismatchError(key, hash)
    const [missing] = await this.prepareUploads([{ key, size: body.length }])
    if (missing) await putPresigned(this.#transport.settings, missing.upload, body)
  }

  async list(prefix: string): Promise<BlobInfo[]> {
    const { blobs } = await this.#call<{ blobs: BlobJson[] }>('/list', { prefix }, 'blobs')
    return blobs.map(readInfo)
  }

  async delete(key: string): Promise<void> {
    blobHash(key)
    await this.#call<{ deleted: string[] }>('/delete', { keys: [key] }, 'deleted')
  }

  async prepareUploads(
    blobs: ReadonlyArray<{ key: string; size: number }>,
  ): Promise<Array<{ key: string; upload: PresignedRequest }>> {
    const body = { blobs: blobs.map(({ key, size }) => ({ key, size_bytes: size })) }
    const { missing } = await this.#call<{ missing: UploadJson[] }>('/uploads', body, 'missing')
    return missing.map((upload) => ({ key: upload.key, upload: readPresigned(upload) }))
  }

  async prepareDownloads(
    keys: ReadonlyArray<string>,
  ): Promise<Array<{ key: string; size: number; download: PresignedRequest } | { key: string; download: null }>> {
    const { downloads } = await this.#call<{ downloads: DownloadJson[] }>('/downloads', { keys }, 'downloads')
    const byKey = new Map(downloads.map((download) => [download.key, download]))
    return keys.map((key) => {
      const found = byKey.get(key)
      return found ? { key, size: found.size_bytes, download: readPresigned(found) } : { key, download: null }
    })
  }

  #call<Answer extends object>(route: string, body: object, expected: keyof Answer & string): Promise<Answer> {
    return this.#transport.call<Answer>(`${this.#base}/blobs${route}`, body, expected, {
      uploads: `${this.#base}/uploads`,
    })
  }
}

function readInfo({ key, size_bytes, uploaded_at }: BlobJson): BlobInfo {
  return { key, size: size_bytes, uploadedAt: Date.parse(uploaded_at) }
}
