import {
  artifactIndexKey,
  artifactKey,
  artifactPrefix,
  type Key,
  taskKey,
  turnKey,
  turnPartition,
} from '../table/keys.ts'
import type { Item } from '../table/table.ts'
import { CONTENDED_ATTEMPTS, retryTransient } from '../table/transient.ts'
import type { Scope } from '../tenancy/scope.ts'
import type { MemoryContext } from './context.ts'
import {
  type ArtifactItem,
  artifactRecords,
  byName,
  type IndexItem,
  indexRecords,
  ofGeneration,
  readTask,
  type TaskItem,
  type TurnItem,
} from './items.ts'
import type { ArtifactRecord, TurnId } from './types.ts'

/** A turn and its task. */
export interface TurnState {
  task: TaskItem | undefined
  /** Undefined as well when it is of another generation than the task: so with all that follows. */
  turn: TurnItem | undefined
  index: IndexItem | undefined
  /** The artifact that was asked for, when it has an item of its own. */
  artifact: ArtifactItem | undefined
}

/** A turn and its task as they were at one instant. */
export async function readTurnState({ table, scope }: MemoryContext, id: TurnId): Promise<TurnState> {
  const keys = keysOf(scope, id)
  const items = await retryTransient(() => table.transactGet(keys), CONTENDED_ATTEMPTS)
  return stateOf(items)
}

/**
 * A turn, its task and perhaps one of its artifacts, each as it was at an instant of its own: for what is told of one
 * item, and for writes, whose conditions hold only when all belongs together. Unlike a transaction, this read is not
 * refused while others write.
 */
export async function readItems(
  { table, scope }: MemoryContext,
  id: TurnId,
  artifactName?: string,
): Promise<TurnState> {
  const keys = keysOf(scope, id, artifactName)
  const items = await retryTransient(() => table.batchGet(keys))
  const found = new Map(items.map((item) => [`${item.pk} ${item.sk}`, item]))
  return stateOf(keys.map(({ pk, sk }) => found.get(`${pk} ${sk}`)))
}

function keysOf(scope: Scope, { taskId, turn }: TurnId, artifactName?: string): Key[] {
  return [
    taskKey(scope, taskId),
    turnKey(scope, taskId, turn),
    artifactIndexKey(scope, taskId, turn),
    ...(artifactName === undefined ? [] : [artifactKey(scope, taskId, { turn, name: artifactName })]),
  ]
}

function stateOf([taskItem, turnItem, index, artifact]: Array<Item | undefined>): TurnState {
  const task = taskItem && readTask(taskItem)
  return {
    task,
    turn: ofGeneration<TurnItem>(turnItem, task?.generation),
    index: ofGeneration<IndexItem>(index, task?.generation),
    artifact: ofGeneration<ArtifactItem>(artifact, task?.generation),
  }
}

/** All artifacts of a turn, in the order of their names. Reads more than the index only when that does not hold all. */
export async function readArtifacts(
  { table, scope }: MemoryContext,
  { taskId, turn }: TurnId,
  index: IndexItem | undefined,
): Promise<ArtifactRecord[]> {
  if (!index) return []
  const records = indexRecords(index)
  if (records.length < index.count) {
    const items: Item[] = []
    const prefix = artifactPrefix(turn)
    for await (const page of table.query(turnPartition(scope, taskId), { prefix })) items.push(...page)
    records.push(...artifactRecords(items, index.generation))
  }
  return records.sort(byName)
}
