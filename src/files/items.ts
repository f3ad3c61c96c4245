import { fileKey, filePartition, type Key } from '../table/keys.ts'
import type { Item } from '../table/table.ts'
import type { Scope } from '../tenancy/scope.ts'
import { hashText } from '../text.ts'
import type { BackendName, Description } from './backend.ts'
import type { FileRecord, FileScope } from './types.ts'

/** What the table has of a file. It stands twice: under the file's id, and in the list of its owner. */
export interface FileEntry {
  id: string
  /** An owner's text, or `APP_FILES`. */
  owner: string
  backend: BackendName
  /** Milliseconds since the epoch. */
  createdAt: number
  /** None: a sandbox of the provider made it, and nobody has asked about it yet. */
  description?: Description
  /** It is deleted, and the id remembered: provider's ids stand in conversations. */
  deletedAt?: number
}

/** The owner of the files that everybody in the app sees. No owner's text is like it. */
const APP_FILES = 'app'

/** Who owns a file of the scope that this user makes. */
export function ownerIn(scope: FileScope, user: string): string {
  return scope === 'app' ? APP_FILES : user
}

/** The owners whose files a user sees. */
export function ownersSeenBy(user: string): string[] {
  return [user, APP_FILES]
}

export function scopeOfOwner(owner: string): FileScope {
  return owner === APP_FILES ? 'app' : 'user'
}

/** The owner's text of a user of the app, known by the `sub` of a token. */
export function userOwner(sub: string): string {
  return `user:${sub}`
}

/** Ids of files that there may be: others are not looked up. */
export const fileIdPattern = /^[A-Za-z0-9_-]{1,200}$/

const TIME_DIGITS = 15

/** Milliseconds, so that texts sort as times do. */
export function timeText(milliseconds: number): string {
  return String(Math.floor(milliseconds)).padStart(TIME_DIGITS, '0')
}

/** Where a file stands in the list of its owner. */
export function placeOf({ createdAt, id }: FileEntry): string {
  return `${timeText(createdAt)}#${id}`
}

export const placePattern = /^\d{15}#[A-Za-z0-9_-]{1,200}$/

export function fileItem(scope: Scope, entry: FileEntry): Item & Key {
  return { ...fileKey(scope, entry.id), ...attributesOf(entry) }
}

export function listKey(scope: Scope, entry: FileEntry): Key {
  return { pk: listPartition(scope, entry.owner), sk: placeOf(entry) }
}

export function listItem(scope: Scope, entry: FileEntry): Item & Key {
  return { ...listKey(scope, entry), ...attributesOf(entry) }
}

export function listPartition(scope: Scope, owner: string): string {
  return filePartition(scope, hashText(owner))
}

function attributesOf({ description, ...entry }: FileEntry): Item {
  return { ...entry, ...description }
}

export function readEntry(item: Item): FileEntry {
  const { id, owner, backend, createdAt, deletedAt } = item as unknown as FileEntry
  return {
    id,
    owner,
    backend,
    createdAt,
    ...(deletedAt !== undefined && { deletedAt }),
    ...(item.filename !== undefined && { description: readDescription(item as unknown as Description) }),
  }
}

function readDescription({ filename, mimeType, sizeBytes, downloadable, expiresAt }: Description): Description {
  return { filename, mimeType, sizeBytes, downloadable, expiresAt }
}

/** Whether a file is there: not deleted, and its time not over. */
export function isLive({ deletedAt, description }: FileEntry, now: number): boolean {
  const expiresAt = description?.expiresAt ?? null
  return deletedAt === undefined && (expiresAt === null || now < expiresAt)
}

export function recordOf({ id, createdAt }: FileEntry, description: Description): FileRecord {
  return { id, createdAt, ...description }
}
