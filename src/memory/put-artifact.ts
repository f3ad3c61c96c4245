import { artifactObjectKey } from '../blobs/object-keys.ts'
import { ConflictError } from '../errors.ts'
import { MAX_ARTIFACTS } from '../limits.ts'
import { artifactIndexKey, artifactKey, turnKey } from '../table/keys.ts'
import type { TransactAction } from '../table/table.ts'
import { hashBytes } from '../text.ts'
import { commit, type Plan } from './commit.ts'
import type { MemoryContext } from './context.ts'
import {
  type ArtifactEntry,
  artifactRecord,
  entryName,
  INDEX_ENTRIES,
  type IndexItem,
  isOfGeneration,
  notOfGeneration,
  type TurnItem,
} from './items.ts'
import { newGeneration, newObjectName } from './objects.ts'
import { readItems, type TurnState } from './state.ts'
import { taskActions, writtenTask } from './task-change.ts'
import type { ArtifactId, ArtifactRecord, ArtifactWrite } from './types.ts'
import { checkArtifactId, checkContent } from './validate.ts'

/** The bytes of an artifact that is written, wherever they come from. */
export interface ArtifactContent {
  sizeBytes: number
  contentType: string
  sha256: string
  /** When the write began. */
  began: number
  /** The generation of the task, should it have to be made. */
  fresh: string
  /** Puts the bytes into the bucket. @returns the name of their object, which belongs to the generation */
  place(generation: string): Promise<string>
}

export async function putArtifact(context: MemoryContext, write: ArtifactWrite): Promise<ArtifactRecord> {
  checkArtifactId(write)
  const { bytes, contentType } = write
  checkContent({ sizeBytes: bytes.length, contentType })
  const content = {
    sizeBytes: bytes.length,
    contentType,
    sha256: hashBytes(bytes),
    began: context.now(),
    fresh: newGeneration(),
    place: artifactPlacer(context, write, { contentType, read: async () => bytes }),
  }
  return commit(context.table, () => planArtifact(context, write, content))
}

/** Puts the bytes of an artifact into the bucket, once for each generation that they turn out to belong to. */
export function artifactPlacer(
  { objects, scope }: MemoryContext,
  id: ArtifactId,
  { contentType, read }: { contentType: string; read: () => Promise<Uint8Array> },
) {
  const placed = new Map<string, string>()
  return async (generation: string): Promise<string> => {
    const known = placed.get(generation)
    if (known !== undefined) return known
    const object = newObjectName(generation)
    await objects.put(artifactObjectKey(scope, { ...id, object }), await read(), contentType)
    placed.set(generation, object)
    return object
  }
}

/** @throws ConflictError `too_many_artifacts` */
export async function planArtifact(
  context: MemoryContext,
  id: ArtifactId & { by: string },
  { sizeBytes, contentType, sha256, began, fresh, place }: ArtifactContent,
): Promise<Plan<ArtifactRecord> & { actions: TransactAction[] }> {
  const { table, scope } = context
  const { taskId, turn, name, by } = id
  const state = await readItems(context, id, name)
  const task = writtenTask(state.task, context.now(), fresh)
  const { generation } = task
  const now = task.live ? began : context.now()
  const known = task.live ? state : undefined
  const old = known?.index?.artifacts[entryName(name)] ?? known?.artifact?.artifact
  if (!old && (known?.index?.count ?? 0) >= MAX_ARTIFACTS) {
    throw new ConflictError('too_many_artifacts', `A turn holds at most ${MAX_ARTIFACTS} artifacts.`, { field: 'name' })
  }
  const entry: ArtifactEntry = {
    sizeBytes,
    contentType,
    sha256,
    object: await place(generation),
    createdAt: old?.createdAt ?? now,
    updatedAt: now,
  }
  const emptyTurn: TurnItem = { generation, meta: '{}', summary: '', createdAt: now, updatedAt: now }
  return {
    actions: [
      ...taskActions(context, task, { taskId, turn, isNewTurn: !known?.turn, by, now }),
      ...(known?.turn
        ? []
        : [table.transactPut({ ...turnKey(scope, taskId, turn), ...emptyTurn }, notOfGeneration(generation))]),
      ...entryActions(context, { id, generation, entry, known }),
    ],
    result: artifactRecord(name, entry),
  }
}

interface EntryWrite {
  id: ArtifactId
  generation: string
  entry: ArtifactEntry
  known: Pick<TurnState, 'index' | 'artifact'> | undefined
}

/** Writes an artifact's entry, into the index as long as that has room. An entry stays where it is. */
function entryActions({ table, scope }: MemoryContext, write: EntryWrite): TransactAction[] {
  const { id, generation, entry, known } = write
  const { taskId, turn, name } = id
  const key = artifactIndexKey(scope, taskId, turn)
  const index = known?.index
  if (!index) {
    const first: IndexItem = {
      generation,
      artifacts: { [entryName(name)]: entry },
      count: 1,
      updatedAt: entry.updatedAt,
    }
    return [table.transactPut({ ...key, ...first }, notOfGeneration(generation))]
  }
  const isIn = index.artifacts[entryName(name)] !== undefined
  const isNew = !isIn && known?.artifact === undefined
  const goesIn = isIn || (isNew && index.count < INDEX_ENTRIES)
  const conditions = ['#generation = :generation']
  if (isNew) conditions.push(goesIn ? '#count < :entries' : '#count < :most')
  if (goesIn) conditions.push(`${isIn ? 'attribute_exists' : 'attribute_not_exists'}(#artifacts.#name)`)
  const change = table.transactUpdate(key, {
    expression: `SET #updatedAt = :now${goesIn ? ', #artifacts.#name = :entry' : ''}${isNew ? ' ADD #count :one' : ''}`,
    condition: conditions.join(' AND '),
    names: {
      '#generation': 'generation',
      '#updatedAt': 'updatedAt',
      ...(goesIn && { '#artifacts': 'artifacts', '#name': entryName(name) }),
      ...(isNew && { '#count': 'count' }),
    },
    values: {
      ':generation': generation,
      ':now': entry.updatedAt,
      ...(goesIn && { ':entry': entry }),
      ...(isNew && { ':one': 1, ...(goesIn ? { ':entries': INDEX_ENTRIES } : { ':most': MAX_ARTIFACTS }) }),
    },
  })
  if (goesIn) return [change]
  const item = { ...artifactKey(scope, taskId, id), generation, artifact: entry }
  return [change, table.transactPut(item, isNew ? notOfGeneration(generation) : isOfGeneration(generation))]
}
