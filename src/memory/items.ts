import { readTurnSortKey } from '../table/keys.ts'
import type { Condition, Item } from '../table/table.ts'
import type { ArtifactRecord, TaskRecord } from './types.ts'

/**
 * The items of a task. All but its own carry the generation of the task that they belong to: one of another generation
 * is of a task that was deleted or has expired, and counts for nothing.
 *
 * The task's item is the entry of the catalog. A turn's item holds its meta, and its summary or the name of the
 * summary's object. The index of a turn holds its first artifacts; later ones have items of their own, so that no item
 * grows past its limit and a turn is read by its few items in any case.
 */
export interface TaskItem extends TaskRecord {
  generation: string
  /** The highest turn that has a summary. */
  summaryTurn?: number
  /** Names the write of what the catalog shows of that summary: who reads both apart sees whether they belong together. */
  excerptWrite?: string
  /** Counts the writes of turns. */
  turnWrites: number
}

export type SummaryPlace =
  /** In the item; of no length when there is none. */
  | { summary: string }
  /** In an object, with what the catalog shows of it. */
  | { summaryObject: string; excerpt: string }

export type TurnItem = { generation: string; meta: string; createdAt: number; updatedAt: number } & SummaryPlace

/** An artifact as items hold it: the name stands beside it. */
export interface ArtifactEntry extends Omit<ArtifactRecord, 'name'> {
  /** The name of its object. */
  object: string
}

export interface IndexItem {
  generation: string
  /** By `entryName`. */
  artifacts: Record<string, ArtifactEntry>
  /** Artifacts of the turn, those with items of their own included. */
  count: number
  updatedAt: number
}

export interface ArtifactItem {
  generation: string
  artifact: ArtifactEntry
}

/** Artifacts in the index. With at most some 700 bytes each it stays small, and a write to it cheap. */
export const INDEX_ENTRIES = 32

/** A summary of at most so many bytes lies in its turn's item. */
export const INLINE_SUMMARY_BYTES = 4_000

/** The name of an artifact as a key of a map: one that no object has by itself, such as `__proto__`. */
export function entryName(name: string): string {
  return `#${name}`
}

export function readTask(item: Item): TaskItem {
  const { pk: _pk, sk, ...task } = item
  return { ...(task as unknown as Omit<TaskItem, 'taskId'>), taskId: sk as string }
}

/** The task that `GET` tells of: without what is ours alone. */
export function taskRecord(task: TaskItem): TaskRecord {
  const { taskId, latestTurn, turnCount, createdBy, createdAt, updatedAt, retainUntil } = task
  return { taskId, latestTurn, turnCount, createdBy, createdAt, updatedAt, retainUntil }
}

export function isLive(task: Pick<TaskItem, 'retainUntil'> | undefined, now: number): boolean {
  return task !== undefined && now < task.retainUntil
}

/** The item as one of the generation. */
export function ofGeneration<T extends { generation: string }>(
  item: Item | undefined,
  generation: string | undefined,
): T | undefined {
  return generation !== undefined && item?.generation === generation ? (item as unknown as T) : undefined
}

export function artifactRecord(name: string, entry: ArtifactEntry): ArtifactRecord {
  const { sizeBytes, contentType, sha256, createdAt, updatedAt } = entry
  return { name, sizeBytes, contentType, sha256, createdAt, updatedAt }
}

/** The artifacts of an index, in no order. */
export function indexRecords(index: IndexItem | undefined): ArtifactRecord[] {
  return Object.entries(index?.artifacts ?? {}).map(([key, entry]) => artifactRecord(key.slice(1), entry))
}

/** Those of the artifacts that are in items of their own. */
export function artifactRecords(items: Item[], generation: string): ArtifactRecord[] {
  return items.flatMap((item) => {
    const found = ofGeneration<ArtifactItem>(item, generation)
    const place = readTurnSortKey(item.sk as string)
    return found && place.kind === 'artifact' ? [artifactRecord(place.name, found.artifact)] : []
  })
}

export function byName(left: { name: string }, right: { name: string }): number {
  return left.name < right.name ? -1 : Number(left.name > right.name)
}

/** That there is no such item of the generation. */
export function notOfGeneration(generation: string): Condition {
  return {
    condition: 'attribute_not_exists(pk) OR #generation <> :generation',
    names: { '#generation': 'generation' },
    values: { ':generation': generation },
  }
}

export function isOfGeneration(generation: string): Condition {
  return {
    condition: '#generation = :generation',
    names: { '#generation': 'generation' },
    values: { ':generation': generation },
  }
}
