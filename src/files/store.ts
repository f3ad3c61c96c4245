import { randomUUID } from 'node:crypto'
import pMap from 'p-map'
import { fileObjectKey } from '../blobs/object-keys.ts'
import { ConflictError, InvalidInputError, NotFoundError, PayloadTooLargeError, UnavailableError } from '../errors.ts'
import { fileKey } from '../table/keys.ts'
import type { TransactAction } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'
import { createUploads, type UploadRecord, type Uploads } from '../uploads/uploads.ts'
import { notDownloadable } from './anthropic-errors.ts'
import type { BackendName, Description, NewContent, StoredContent } from './backend.ts'
import { createContext, type FilesConfig } from './context.ts'
import {
  type FileEntry,
  fileIdPattern,
  isLive,
  listKey,
  ownerIn,
  ownersSeenBy,
  placeOf,
  placePattern,
  readEntry,
  recordOf,
} from './items.ts'
import { newestFiles } from './list.ts'
import { noteScope } from './note-scope.ts'
import { backendOf, type FilesContext, forget, noteRemoved, recordActions, removeBytes } from './removal.ts'
import { FILE_EXPIRY_SECONDS, FILE_PAGE_SIZE, fileName, MAX_FILE_BYTES, mimeType } from './rules.ts'
import { newFileId } from './s3-backend.ts'
import type { FilePage, FileRecord, FileStore, NewFile } from './types.ts'

export interface FileStoreConfig extends FilesConfig {
  scope: Scope
  /** The owner's text of the user: see `userOwner` and `APP_OWNER`. */
  user: string
  /** Told of bytes that could not be removed with their file; a sweep removes them. */
  onLeftover?: (error: unknown) => void
}

/** What an upload is for, as its record keeps it. */
interface UploadTarget extends Omit<NewContent, 'sizeBytes'> {
  owner: string
  backend: BackendName
  downloadable: boolean
}

const UPLOAD_PURPOSE = 'file'
const DESCRIBE_CONCURRENCY = 8

/** The files that a user of an app sees. @throws InvalidInputError when the scope's names are none */
export function createFileStore(config: FileStoreConfig): FileStore {
  return new TableFileStore(config)
}

class TableFileStore implements FileStore {
  readonly #config: FileStoreConfig
  readonly #context: FilesContext
  readonly #uploads: Uploads

  constructor(config: FileStoreConfig) {
    this.#config = config
    this.#context = createContext(config)
    this.#uploads = createUploads({ ...config, scope: this.#context.scope })
  }

  async create({ bytes, ...file }: NewFile & { bytes: Uint8Array }): Promise<FileRecord> {
    const target = this.#targetOf(file)
    checkSize(bytes.length, 'file')
    const stored = await backendOf(this.#context, target).store({ ...target, sizeBytes: bytes.length }, bytes)
    const made = await this.#record(stored, target, bytes.length, [])
    if (!made) throw new UnavailableError('The upload took too long. Try again.')
    return made
  }

  async startUpload(file: NewFile & { sizeBytes: number; sha256?: string | undefined }) {
    const target = this.#targetOf(file)
    checkSize(file.sizeBytes, 'size_bytes')
    return this.#uploads.start({
      purpose: UPLOAD_PURPOSE,
      target: JSON.stringify(target),
      objectKey: fileObjectKey(this.#context.scope, newFileId()),
      sizeBytes: file.sizeBytes,
      contentType: target.mimeType,
      sha256: file.sha256,
      by: this.#config.user,
    })
  }

  async completeUpload(uploadId: string): Promise<{ file: FileRecord; isNew: boolean }> {
    const upload = await this.#openUpload(uploadId)
    if (upload.result !== undefined) return { file: await this.#resultOf(upload.result), isNew: false }
    if (!(await this.#uploads.verify(upload))) {
      throw new ConflictError('upload_incomplete', 'The bytes that were announced are not there.')
    }
    const target = JSON.parse(upload.target) as UploadTarget
    const content = { ...target, sizeBytes: upload.sizeBytes }
    const stored = await backendOf(this.#context, target).adopt(content, upload.objectKey)
    const completion = this.#uploads.completion(upload, stored.id)
    const file = await this.#record(stored, target, upload.sizeBytes, [completion])
    if (file) return { file, isNew: true }
    // Another request has completed it at the same time.
    const { result } = await this.#openUpload(uploadId)
    if (result === undefined) throw new UnavailableError('The upload took too long to complete. Try again.')
    return { file: await this.#resultOf(result), isNew: false }
  }

  async list({ limit = FILE_PAGE_SIZE.default, page }: { limit?: number | undefined; page?: string | undefined } = {}) {
    if (!Number.isInteger(limit) || limit < 1 || limit > FILE_PAGE_SIZE.most) {
      throw new InvalidInputError('limit', `limit must be a whole number from 1 to ${FILE_PAGE_SIZE.most}.`)
    }
    return this.#list(limit, page === undefined ? undefined : readPage(page))
  }

  async get(id: string): Promise<FileRecord> {
    const file = await this.#described(await this.#find(id))
    if (!file) throw notFound()
    return file
  }

  async open(id: string, signal?: AbortSignal) {
    const entry = await this.#find(id)
    const file = await this.#described(entry)
    if (!file) throw notFound()
    if (!file.downloadable) throw notDownloadable()
    const content = await backendOf(this.#context, entry).open(file, signal)
    if (content) return { file, content }
    await this.#forgetLost(entry)
    throw notFound()
  }

  async delete(id: string): Promise<void> {
    const entry = await this.#find(id)
    if (!(await forget(this.#context, entry))) throw notFound()
    try {
      await removeBytes(this.#context, entry)
    } catch (error) {
      // The file is deleted all the same.
      this.#config.onLeftover?.(error)
    }
  }

  /** @throws InvalidInputError */
  #targetOf(file: NewFile): UploadTarget {
    const { expiresInSeconds = file.fromSandbox ? null : FILE_EXPIRY_SECONDS.default } = file
    checkExpiry(expiresInSeconds)
    return {
      filename: fileName(file.filename),
      mimeType: mimeType(file.mimeType),
      expiresInSeconds,
      owner: ownerIn(file.scope, this.#config.user),
      // Anthropic gives no uploads back.
      backend: file.fromSandbox ? 's3' : (this.#config.filesBackend ?? 's3'),
      downloadable: file.fromSandbox,
    }
  }

  /** Makes the record of bytes that are stored. @returns undefined when something else was there first */
  async #record(
    stored: StoredContent,
    { expiresInSeconds, owner, backend, filename, mimeType, downloadable }: UploadTarget,
    sizeBytes: number,
    more: TransactAction[],
  ): Promise<FileRecord | undefined> {
    const { table, now, scope } = this.#context
    const createdAt = now()
    const expiresAt = expiresInSeconds === null ? null : createdAt + expiresInSeconds * 1_000
    const description = { filename, mimeType, sizeBytes, downloadable, expiresAt }
    const entry = { id: stored.id, owner, backend, createdAt, description }
    await noteScope(this.#config.dynamodb, table, scope)
    const actions = [...recordActions(this.#context, entry), ...stored.actions, ...more]
    const token = randomUUID()
    const { done } = await retryTransient(() => table.transact(actions, token))
    try {
      await (done ? stored.settle?.() : stored.abandon?.())
    } catch (error) {
      this.#config.onLeftover?.(error)
    }
    return done ? recordOf(entry, description) : undefined
  }

  /** What an upload came to. @throws NotFoundError as for an unknown upload, when the file is gone */
  async #resultOf(id: string): Promise<FileRecord> {
    try {
      return await this.get(id)
    } catch (error) {
      throw error instanceof NotFoundError ? noUpload() : error
    }
  }

  /** @throws NotFoundError */
  async #openUpload(uploadId: string): Promise<UploadRecord> {
    const upload = await this.#uploads.open(uploadId, UPLOAD_PURPOSE)
    if (upload?.by !== this.#config.user) throw noUpload()
    return upload
  }

  async #list(limit: number, after: string | undefined): Promise<FilePage> {
    const { table, scope, now } = this.#context
    const owners = ownersSeenBy(this.#config.user)
    const { entries, more } = await newestFiles({ table, scope, owners, limit, after, now: now() })
    const described = await pMap(entries, (entry) => this.#described(entry), { concurrency: DESCRIBE_CONCURRENCY })
    const files = described.filter((file) => file !== undefined)
    // Those that the provider does not know are deleted now, and others take their places.
    if (files.length < entries.length) return this.#list(limit, after)
    const last = entries.at(-1)
    return { files, nextPage: more && last ? writePage(placeOf(last)) : null }
  }

  /** The file under an id, if this user sees it. @throws NotFoundError */
  async #find(id: string): Promise<FileEntry> {
    const { table, scope, now } = this.#context
    const item = fileIdPattern.test(id) ? await retryTransient(() => table.get(fileKey(scope, id))) : undefined
    const entry = item && readEntry(item)
    const seen = entry !== undefined && ownersSeenBy(this.#config.user).includes(entry.owner)
    if (!seen || !isLive(entry, now())) throw notFound()
    return entry
  }

  /** The file, asking its backend if need be; undefined when that has none, and so the file is deleted. */
  async #described(entry: FileEntry): Promise<FileRecord | undefined> {
    if (entry.description) return recordOf(entry, entry.description)
    const description = await backendOf(this.#context, entry).describe(entry.id)
    if (!description) {
      await this.#forgetLost(entry)
      return undefined
    }
    await this.#keepDescription(entry, description)
    return recordOf(entry, description)
  }

  async #keepDescription(entry: FileEntry, description: Description): Promise<void> {
    const { table, scope } = this.#context
    const attributes = Object.entries(description)
    const update = {
      expression: `SET ${attributes.map(([name]) => `#${name} = :${name}`).join(', ')}`,
      // A file that was deleted meanwhile stays so.
      condition: 'attribute_exists(pk) AND attribute_not_exists(#deletedAt)',
      names: { '#deletedAt': 'deletedAt', ...Object.fromEntries(attributes.map(([name]) => [`#${name}`, name])) },
      values: Object.fromEntries(attributes.map(([name, value]) => [`:${name}`, value])),
    }
    const keys = [fileKey(scope, entry.id), listKey(scope, entry)]
    const token = randomUUID()
    await retryTransient(() =>
      table.transact(
        keys.map((key) => table.transactUpdate(key, update)),
        token,
      ),
    )
  }

  /** Deletes a file whose bytes are gone. */
  async #forgetLost(entry: FileEntry): Promise<void> {
    if (await forget(this.#context, entry)) await noteRemoved(this.#context, entry)
  }
}

/** The same for all that a user does not see, whatever the reason. */
function notFound(): NotFoundError {
  return new NotFoundError('There is no such file.')
}

function checkSize(size: number, field: string): void {
  if (!Number.isSafeInteger(size) || size < 0) {
    throw new InvalidInputError(field, `${field} must be a whole number of bytes.`)
  }
  if (size > MAX_FILE_BYTES) {
    throw new PayloadTooLargeError(`A file may have at most ${MAX_FILE_BYTES} bytes.`, { field })
  }
}

function checkExpiry(seconds: number | null): void {
  const { least, most } = FILE_EXPIRY_SECONDS
  if (seconds === null || (Number.isInteger(seconds) && seconds >= least && seconds <= most)) return
  throw new InvalidInputError(
    'expires_in_seconds',
    `expires_in_seconds must be a whole number from ${least} to ${most}.`,
  )
}

function writePage(place: string): string {
  return Buffer.from(place).toString('base64url')
}

/** @throws InvalidInputError */
function readPage(page: string): string {
  const place = Buffer.from(page, 'base64url').toString()
  if (!placePattern.test(place) || writePage(place) !== page) {
    throw new InvalidInputError('page', 'page must be the next_page of an earlier list.')
  }
  return place
}

function noUpload(): NotFoundError {
  return new NotFoundError('There is no such upload.')
}
