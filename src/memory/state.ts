import { artifactIndexKey, artifactKey, artifactPrefix, taskKey, turnKey, turnPartition } from '../table/keys.ts'
import type { Item } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
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

/** A turn and its task as they were at one instant. */
export interface TurnState {
  task: TaskItem | undefined
  /** Undefined as well when it is of another generation than the task: so with all that follows. */
  turn: TurnItem | undefined
  index: IndexItem | undefined
  /** The artifact that was asked for, when it has an item of its own. */
  artifact: ArtifactItem | undefined
}

/** @param artifactName asks for one artifact too */
export async function readTurnState(context: MemoryContext, id: TurnId, artifactName?: string): Promise<TurnState> {
  const { table, scope } = context
  const { taskId, turn } = id
  const keys = [taskKey(scope, taskId), turnKey(scope, taskId, turn), artifactIndexKey(scope, taskId, turn)]
  if (artifactName !== undefined) keys.push(artifactKey(scope, taskId, { turn, name: artifactName }))
  const [taskItem, turnItem, index, artifact] = await retryTransient(() => table.transactGet(keys))
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
