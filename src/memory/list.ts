import { readTurnSortKey, taskKey, taskPartition, turnEndSortKey, turnPartition } from '../table/keys.ts'
import type { Item } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import type { MemoryContext } from './context.ts'
import {
  artifactRecords,
  byName,
  type IndexItem,
  indexRecords,
  isLive,
  ofGeneration,
  readTask,
  type TaskItem,
  type TurnItem,
  taskRecord,
} from './items.ts'
import { checkTaskId } from './names.ts'
import { lastUpdate } from './read.ts'
import type { TaskRecord, TurnOverview } from './types.ts'
import { checkLimit, checkTurnId } from './validate.ts'

export async function listTasks(
  { table, scope, now }: MemoryContext,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<{ tasks: TaskRecord[]; next: string | null }> {
  checkLimit(limit)
  if (after !== undefined) checkTaskId(after)
  const tasks: TaskRecord[] = []
  const options = { firstPageSize: limit + 1, ...(after !== undefined && { after }) }
  for await (const items of table.query(taskPartition(scope), options)) {
    for (const item of items) {
      const task = readTask(item)
      if (!isLive(task, now())) continue
      if (tasks.length === limit) return { tasks, next: tasks.at(-1)?.taskId ?? null }
      tasks.push(taskRecord(task))
    }
  }
  return { tasks, next: null }
}

export interface TaskPage {
  taskId: string
  limit: number
  after?: number | undefined
  maxBytes?: number | undefined
}

type TaskAnswer = { task: TaskRecord; turns: TurnOverview[]; next: number | null }

export async function getTask(context: MemoryContext, page: TaskPage): Promise<TaskAnswer | null> {
  const { taskId, limit, after } = page
  checkTaskId(taskId)
  checkLimit(limit)
  if (after !== undefined) checkTurnId({ taskId, turn: after })
  const { table, scope, now } = context
  const read = async () => {
    const item = await retryTransient(() => table.get(taskKey(scope, taskId)))
    return item && readTask(item)
  }
  let task = await read()
  for (;;) {
    if (!task || !isLive(task, now())) return null
    const { turns, next } = await readTurns(context, task, page)
    const then = await read()
    // The turns of a task that was deleted meanwhile may have been read in part.
    if (then?.generation === task.generation) return { task: taskRecord(task), turns, next }
    task = then
  }
}

const TURN_ATTRIBUTES = ['sk', 'generation', 'meta', 'createdAt', 'updatedAt', 'artifacts', 'artifact', 'count']

async function readTurns(
  { table, scope }: MemoryContext,
  task: TaskItem,
  { limit, after, maxBytes = Number.POSITIVE_INFINITY }: TaskPage,
): Promise<{ turns: TurnOverview[]; next: number | null }> {
  const options = {
    attributes: TURN_ATTRIBUTES,
    // A turn seldom has more than two items.
    firstPageSize: 2 * limit + 2,
    ...(after !== undefined && { after: turnEndSortKey(after) }),
  }
  const turns: TurnOverview[] = []
  let bytes = 0
  for await (const { turn, items } of byTurn(table.query(turnPartition(scope, task.taskId), options))) {
    const overview = readOverview(task, turn, items)
    if (!overview) continue
    bytes += jsonBytes(overview)
    if (turns.length === limit || (turns.length > 0 && bytes > maxBytes)) {
      return { turns, next: turns.at(-1)?.turn ?? null }
    }
    turns.push(overview)
  }
  return { turns, next: null }
}

/** The items of one turn after the other. */
async function* byTurn(pages: AsyncIterable<Item[]>): AsyncGenerator<{ turn: number; items: Item[] }> {
  let current: { turn: number; items: Item[] } | undefined
  for await (const page of pages) {
    for (const item of page) {
      const { turn } = readTurnSortKey(item.sk as string)
      if (current?.turn !== turn) {
        if (current) yield current
        current = { turn, items: [] }
      }
      current.items.push(item)
    }
  }
  if (current) yield current
}

function readOverview({ taskId, generation, retainUntil }: TaskItem, turn: number, items: Item[]) {
  const ofKind = (kind: string) => items.find(({ sk }) => readTurnSortKey(sk as string).kind === kind)
  const item = ofGeneration<TurnItem>(ofKind('turn'), generation)
  if (!item) return undefined
  const index = ofGeneration<IndexItem>(ofKind('index'), generation)
  return {
    taskId,
    turn,
    meta: item.meta,
    artifacts: [...indexRecords(index), ...artifactRecords(items, generation)].sort(byName),
    createdAt: item.createdAt,
    updatedAt: lastUpdate(item, index),
    retainUntil,
  }
}

/** About the bytes of a turn in JSON, without its artifacts, and of one artifact without its texts. */
const RECORD_BYTES = 250

function jsonBytes({ meta, artifacts }: TurnOverview): number {
  const texts = artifacts.reduce((sum, { name, contentType }) => sum + name.length + contentType.length, 0)
  return Buffer.byteLength(meta) + texts + RECORD_BYTES * (1 + artifacts.length)
}
