import pMap from 'p-map'
import { readMemoryObjectKey, taskObjectPrefix } from '../blobs/object-keys.ts'
import { ForbiddenError } from '../errors.ts'
import {
  deadTaskKey,
  deadTaskPartition,
  deadTaskPrefix,
  excerptKey,
  type Key,
  taskKey,
  turnPartition,
} from '../table/keys.ts'
import type { Condition, Item, TransactAction } from '../table/table.ts'
import { retryTransient } from '../table/transient.ts'
import { commit } from './commit.ts'
import type { MemoryContext } from './context.ts'
import { isLive, isOfGeneration, readTask, type TaskItem } from './items.ts'
import { checkTaskId } from './names.ts'
import { generationOf, type ObjectFailure } from './objects.ts'
import { deadTaskItem, stillExpired } from './task-change.ts'

/** A task that was deleted or has expired, of which something is left. */
export interface DeadTask {
  taskId: string
  generation: string
}

/** What clearing a dead task away has come to. */
export interface Cleared {
  /** Nothing is left of it. False: the time was up, or S3 did not delete all. */
  done: boolean
  bytesFreed: number
  failures: ObjectFailure[]
}

type BuryContext = Pick<MemoryContext, 'table' | 'scope' | 'now'>
type ClearContext = Pick<MemoryContext, 'table' | 'objects' | 'scope'>

const CLEAR_CONCURRENCY = 16
/** So that the answer comes before the gateway gives up. What is left then goes with the next delete or sweep. */
const DELETE_MS = 20_000

/** For all readers the task is gone with one write; what belonged to it is cleared away after that. */
export async function deleteTask(
  context: MemoryContext,
  { taskId, mayDelete }: { taskId: string; mayDelete: (createdBy: string) => boolean },
): Promise<void> {
  checkTaskId(taskId)
  const { table, scope } = context
  const until = performance.now() + DELETE_MS
  await commit(table, async () => {
    const item = await retryTransient(() => table.get(taskKey(scope, taskId)))
    if (!item) return { result: undefined }
    const task = readTask(item)
    const now = context.now()
    if (!isLive(task, now)) return { actions: buryActions(context, task, stillExpired(task, now)), result: undefined }
    if (!mayDelete(task.createdBy)) {
      throw new ForbiddenError('The task was created by another: only a project_admin may delete it.')
    }
    return { actions: buryActions(context, task, isOfGeneration(task.generation)), result: undefined }
  })
  for await (const items of table.query(deadTaskPartition(scope), { prefix: deadTaskPrefix(taskId) })) {
    for (const dead of items) await clearDeadTask(context, dead as unknown as DeadTask, () => performance.now() > until)
  }
}

/** Ends an expired task for good, unless somebody has written to it. */
export async function buryExpired(context: BuryContext, task: TaskItem): Promise<boolean> {
  const { table, scope } = context
  return commit(table, async () => {
    const item = await retryTransient(() => table.get(taskKey(scope, task.taskId)))
    const now = context.now()
    const current = item && readTask(item)
    if (!current || current.generation !== task.generation || isLive(current, now)) return { result: false }
    return { actions: buryActions(context, current, stillExpired(current, now)), result: true }
  })
}

function buryActions(context: BuryContext, task: TaskItem, condition: Condition): TransactAction[] {
  const { table, scope } = context
  const { taskId, generation } = task
  return [
    table.transactDelete(taskKey(scope, taskId), condition),
    // A task whose summaries were emptied has none, and one that has begun anew its own.
    ...(task.summaryTurn === undefined
      ? []
      : [table.transactDelete(excerptKey(scope, taskId), isOfGeneration(generation))]),
    table.transactPut(deadTaskItem(context, task)),
  ]
}

/**
 * Removes what is left of a dead task: the items of its generation, which a task of the same id that is there by now
 * does not have, and the objects that bear its name. Killed anywhere, it is done anew. Its own item goes last.
 */
export async function clearDeadTask(
  { table, objects, scope }: ClearContext,
  { taskId, generation }: DeadTask,
  timeIsUp: () => boolean,
): Promise<Cleared> {
  const cleared: Cleared = { done: false, bytesFreed: 0, failures: [] }
  const condition = isOfGeneration(generation)
  for await (const items of table.query(turnPartition(scope, taskId), { attributes: ['pk', 'sk', 'generation'] })) {
    const dead = items.filter((item) => item.generation === generation)
    await pMap(dead, (item) => retryTransient(() => table.delete(keyOf(item), condition)), {
      concurrency: CLEAR_CONCURRENCY,
    })
    // Not before something is done: each run gets on.
    if (dead.length > 0 && timeIsUp()) return cleared
  }
  await retryTransient(() => table.delete(excerptKey(scope, taskId), condition))
  for await (const listed of objects.list(taskObjectPrefix(scope, taskId))) {
    const dead = listed.filter(({ key }) => generationOf(readMemoryObjectKey(scope, key)?.object ?? '') === generation)
    const failures = await objects.delete(dead.map(({ key }) => key))
    const failed = new Set(failures.map(({ key }) => key))
    cleared.failures.push(...failures)
    cleared.bytesFreed += dead.reduce((sum, { key, size }) => sum + (failed.has(key) ? 0 : size), 0)
    if (dead.length > 0 && timeIsUp()) return cleared
  }
  if (cleared.failures.length > 0) return cleared
  await retryTransient(() => table.delete(deadTaskKey(scope, taskId, generation)))
  return { ...cleared, done: true }
}

function keyOf({ pk, sk }: Item): Key {
  return { pk: pk as string, sk: sk as string }
}
