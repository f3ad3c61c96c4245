import { randomUUID } from 'node:crypto'
import { fileKey } from '../table/keys.ts'
import { TABLE } from '../table/schema.ts'
import { type Condition, NEW_ITEM, type Table } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'
import { upstreamFailed } from './anthropic-errors.ts'
import type { Backends, FilesBackend } from './backend.ts'
import { type FileEntry, fileItem, listItem, listKey } from './items.ts'

export interface FilesContext {
  table: Table
  scope: Scope
  backends: Backends
  now: () => number
}

/** How long an id of a provider is remembered after its file was deleted. */
export const TOMBSTONE_MS = 30 * 86_400_000

const THERE: Condition = {
  condition: 'attribute_exists(pk) AND attribute_not_exists(#deletedAt)',
  names: { '#deletedAt': 'deletedAt' },
  values: {},
}
const LISTED: Condition = { condition: 'attribute_exists(pk)', names: {}, values: {} }

/** The backend that has the bytes of a file. @throws UpstreamError when this stack has it no more */
export function backendOf({ backends }: FilesContext, { backend }: Pick<FileEntry, 'backend'>): FilesBackend {
  const found = backends[backend]
  if (!found) throw upstreamFailed(new Error(`The backend ${backend} is not set up.`))
  return found
}

/**
 * Deletes a file for all readers; its bytes are still there.
 * @returns false when somebody else has done so
 */
export async function forget({ table, scope, now }: FilesContext, entry: FileEntry): Promise<boolean> {
  const { description: _, ...kept } = entry
  const key = fileKey(scope, entry.id)
  const actions = [
    entry.backend === 's3'
      ? table.transactDelete(key, THERE)
      : table.transactPut(fileItem(scope, { ...kept, deletedAt: now() }), THERE),
    table.transactDelete(listKey(scope, entry), LISTED),
  ]
  const token = randomUUID()
  const { done } = await retryTransient(() => table.transact(actions, token))
  return done
}

/** Removes the bytes of a file that is deleted; until that has come to an end a sweep does it again. */
export async function removeBytes(context: FilesContext, entry: FileEntry): Promise<void> {
  await backendOf(context, entry).remove(entry.id)
  await noteRemoved(context, entry)
}

/** From now on nothing remains to be done about a deleted file but to remember its id for a while. */
export async function noteRemoved({ table, scope, now }: FilesContext, { id, backend }: FileEntry): Promise<void> {
  if (backend === 's3') return
  await retryTransient(() =>
    table.update(fileKey(scope, id), {
      expression: 'SET #removed = :true, #ttl = :ttl',
      condition: 'attribute_exists(#deletedAt)',
      names: { '#removed': 'removed', '#ttl': TABLE.ttl, '#deletedAt': 'deletedAt' },
      values: { ':true': true, ':ttl': Math.ceil((now() + TOMBSTONE_MS) / 1_000) },
    }),
  )
}

/** What makes a file, within one transaction. */
export function recordActions({ table, scope }: FilesContext, entry: FileEntry) {
  return [table.transactPut(fileItem(scope, entry), NEW_ITEM), table.transactPut(listItem(scope, entry))]
}
