import { randomUUID } from 'node:crypto'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { fileKey, providerClaimKey } from '../table/keys.ts'
import { type Item, NEW_ITEM, Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import { parseScope, type Scope } from '../tenancy/scope.ts'
import { upstreamFailed } from './anthropic-errors.ts'
import type { BackendName } from './backend.ts'
import {
  type FileEntry,
  fileIdPattern,
  fileItem,
  isLive,
  listItem,
  ownerIn,
  ownersSeenBy,
  readEntry,
  scopeOfOwner,
} from './items.ts'
import { scopeNote } from './note-scope.ts'
import { TOMBSTONE_MS } from './removal.ts'
import type { FileScope } from './types.ts'

export interface FileRegistryConfig {
  dynamodb: DynamoDBClient
  tableName: string
  scope: Scope
  /** The owner's text of the user. */
  user: string
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: (() => number) | undefined
}

/** A file that a user sees, or saw before it was deleted. */
export interface RegisteredFile {
  scope: FileScope
  backend: BackendName
  /** Not deleted, and its time not over. */
  live: boolean
}

/** Which of a provider's files belong to whom. */
export interface FileRegistry {
  /**
   * Of the ids those that the user sees, or saw up to 30 days ago. One read for up to 100 distinct ids.
   */
  lookUp(ids: readonly string[]): Promise<Map<string, RegisteredFile>>
  /**
   * Makes a file that a hosted sandbox has made one of the user's or the app's, in one write. What it is called and how
   * large it is, is asked when somebody wants to know.
   * @returns false when it belongs to somebody already
   */
  register(id: string, scope: FileScope): Promise<boolean>
}

const BATCH = 100

/** The registry of one user of one app. */
export function createFileRegistry({
  dynamodb,
  tableName,
  user,
  now = Date.now,
  ...config
}: FileRegistryConfig): FileRegistry {
  const scope = parseScope(config.scope.tenant, config.scope.project)
  const table = new Table(dynamodb, tableName)
  return {
    async lookUp(ids) {
      const found = new Map<string, RegisteredFile>()
      const distinct = [...new Set(ids)].filter((id) => fileIdPattern.test(id))
      for (let start = 0; start < distinct.length; start += BATCH) {
        const keys = distinct.slice(start, start + BATCH).map((id) => fileKey(scope, id))
        const items = await retryTransient(() => table.batchGet(keys))
        for (const [id, file] of registeredFiles(items, user, now())) found.set(id, file)
      }
      return found
    },
    async register(id, fileScope) {
      if (!fileIdPattern.test(id)) throw upstreamFailed(new Error('A provider gave a file an id that is none.'))
      const entry: FileEntry = { id, owner: ownerIn(fileScope, user), backend: 'anthropic', createdAt: now() }
      const note = scopeNote(dynamodb, table, scope)
      const claim = { ...providerClaimKey(id), tenant: scope.tenant, project: scope.project }
      const actions = [
        table.transactPut(fileItem(scope, entry), NEW_ITEM),
        table.transactPut(listItem(scope, entry)),
        table.transactPut(claim, NEW_ITEM),
        ...note.actions,
      ]
      const token = randomUUID()
      const { done } = await retryTransient(() => table.transact(actions, token))
      if (done) note.written()
      return done
    },
  }
}

/** The files among items of the table that the user sees, or saw up to 30 days ago. */
export function registeredFiles(items: readonly Item[], user: string, now: number): Map<string, RegisteredFile> {
  const owners = ownersSeenBy(user)
  const seen = items.map(readEntry).filter((entry) => owners.includes(entry.owner) && !isForgotten(entry, now))
  return new Map(
    seen.map((entry) => [
      entry.id,
      { scope: scopeOfOwner(entry.owner), backend: entry.backend, live: isLive(entry, now) },
    ]),
  )
}

function isForgotten({ deletedAt }: FileEntry, now: number): boolean {
  return deletedAt !== undefined && now >= deletedAt + TOMBSTONE_MS
}
