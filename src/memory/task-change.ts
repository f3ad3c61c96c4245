import { randomBytes } from 'node:crypto'
import { deadTaskKey, excerptKey, scopeKey, taskKey } from '../table/keys.ts'
import { type Condition, NEW_ITEM, type TransactAction } from '../table/table.ts'
import type { MemoryContext } from './context.ts'
import { isLive, type TaskItem } from './items.ts'
import { newGeneration } from './objects.ts'

/** What a write to a turn does to the summary that the catalog shows. */
export type SummaryChange =
  /** The turn's summary is the newest now; `excerpt`: what is shown of it. */
  | { kind: 'newest'; excerpt: string }
  /** A newer turn has one. */
  | { kind: 'older' }
  /** The turn has none, and it was not the newest. */
  | { kind: 'none' }
  /** The turn had the newest. Now another turn's is, or none is. */
  | { kind: 'emptied'; next: { turn: number; excerpt: string } | undefined }

export interface TaskWrite {
  taskId: string
  turn: number
  /** The turn is made by this write. */
  isNewTurn: boolean
  /** Undefined: the write is none of a turn's own content. */
  summary?: SummaryChange | undefined
  by: string
  /**
   * When the write began. One that is overtaken by a later one takes nothing back of what that promised: the task's
   * times stay.
   */
  now: number
}

/** The task that a write goes to: the one that is there, or a new one in place of none or of an expired one. */
export interface WrittenTask {
  generation: string
  /** The task as it was read, when it is live. */
  live: TaskItem | undefined
  /** The task as it was read, when it has expired. */
  expired: TaskItem | undefined
}

/** @param fresh the generation of the task, should it have to be made */
export function writtenTask(task: TaskItem | undefined, now: number, fresh = newGeneration()): WrittenTask {
  if (task && isLive(task, now)) return { generation: task.generation, live: task, expired: undefined }
  return { generation: fresh, live: undefined, expired: task }
}

/**
 * What a write to a turn does to its task. The conditions hold whatever else is written meanwhile, as far as it can be:
 * the count is added to, and the highest turn and the newest summary are told apart from what they were read as only
 * where that matters.
 */
export function taskActions(context: MemoryContext, task: WrittenTask, write: TaskWrite): TransactAction[] {
  const { table, scope } = context
  const excerptWrite = randomBytes(8).toString('hex')
  const summary = excerptAction(context, { generation: task.generation, write: excerptWrite }, write)
  const taskAction = task.live
    ? changedTask(context, task.live, write, excerptWrite)
    : newTask(context, task, write, excerptWrite)
  if (task.live) return [taskAction, ...summary]
  const { expired } = task
  return [
    taskAction,
    ...summary,
    // So that the sweep finds the scope.
    table.transactPut({ ...scopeKey(scope), tenant: scope.tenant, project: scope.project }),
    ...(expired ? [table.transactPut(deadTaskItem(context, expired))] : []),
  ]
}

/** What tells that a generation of a task has ended, until all of it is cleared away. */
export function deadTaskItem({ scope }: Pick<MemoryContext, 'scope'>, { taskId, generation }: TaskItem) {
  return { ...deadTaskKey(scope, taskId, generation), taskId, generation }
}

/** Until when the task is kept with the write. */
export function retainedUntil(
  { retentionMs }: Pick<MemoryContext, 'retentionMs'>,
  { live }: WrittenTask,
  now: number,
): number {
  return live && now < live.updatedAt ? live.retainUntil : now + retentionMs
}

function newTask(
  { table, scope, retentionMs }: MemoryContext,
  task: WrittenTask,
  write: TaskWrite,
  excerptWrite: string,
): TransactAction {
  const { turn, by, now, summary } = write
  const item = {
    ...taskKey(scope, write.taskId),
    generation: task.generation,
    latestTurn: turn,
    turnCount: 1,
    ...(summary?.kind === 'newest' && { summaryTurn: turn, excerptWrite }),
    turnWrites: 1,
    createdBy: by,
    createdAt: now,
    updatedAt: now,
    retainUntil: now + retentionMs,
  }
  return table.transactPut(item, task.expired ? stillExpired(task.expired, now) : NEW_ITEM)
}

/** That nobody has written to an expired task since it was read, in time by their clock or to begin a new one. */
export function stillExpired({ generation, retainUntil }: TaskItem, now: number): Condition {
  return {
    condition: '#generation = :expired AND #retainUntil = :retainUntil AND #retainUntil <= :now',
    names: { '#generation': 'generation', '#retainUntil': 'retainUntil' },
    values: { ':expired': generation, ':retainUntil': retainUntil, ':now': now },
  }
}

function changedTask(
  { table, scope, retentionMs }: MemoryContext,
  task: TaskItem,
  write: TaskWrite,
  excerptWrite: string,
): TransactAction {
  const { taskId, turn, isNewTurn, summary, now } = write
  // An update has to set something.
  const set = ['#generation = :generation']
  const add: string[] = []
  const remove: string[] = []
  const conditions = ['#generation = :generation']
  const names: Record<string, string> = { '#generation': 'generation' }
  const values: Record<string, unknown> = { ':generation': task.generation }
  if (now >= task.updatedAt) {
    set.push('#updatedAt = :now', '#retainUntil = :retainUntil')
    conditions.push('#updatedAt <= :now')
    Object.assign(names, { '#updatedAt': 'updatedAt', '#retainUntil': 'retainUntil' })
    Object.assign(values, { ':now': now, ':retainUntil': now + retentionMs })
  }
  if (isNewTurn) {
    add.push('#turnCount :one')
    names['#turnCount'] = 'turnCount'
    values[':one'] = 1
    if (turn > task.latestTurn) {
      set.push('#latestTurn = :turn')
      conditions.push('#latestTurn < :turn')
      names['#latestTurn'] = 'latestTurn'
      values[':turn'] = turn
    }
  }
  if (summary) {
    add.push('#turnWrites :one')
    names['#turnWrites'] = 'turnWrites'
    names['#summaryTurn'] = 'summaryTurn'
    values[':one'] = 1
  }
  if (summary?.kind === 'newest') {
    set.push('#summaryTurn = :turn')
    conditions.push('(attribute_not_exists(#summaryTurn) OR #summaryTurn <= :turn)')
    values[':turn'] = turn
  } else if (summary?.kind === 'older') {
    conditions.push('#summaryTurn > :turn')
    values[':turn'] = turn
  } else if (summary?.kind === 'none') {
    conditions.push('(attribute_not_exists(#summaryTurn) OR #summaryTurn <> :turn)')
    values[':turn'] = turn
  } else if (summary?.kind === 'emptied') {
    // The search for the next newest has seen all that was written.
    conditions.push('#turnWrites = :turnWrites')
    values[':turnWrites'] = task.turnWrites
    if (summary.next) {
      set.push('#summaryTurn = :next')
      values[':next'] = summary.next.turn
    } else remove.push('#summaryTurn', '#excerptWrite')
  }
  if (summary?.kind === 'newest' || summary?.kind === 'emptied') names['#excerptWrite'] = 'excerptWrite'
  if (summary?.kind === 'newest' || (summary?.kind === 'emptied' && summary.next)) {
    set.push('#excerptWrite = :excerptWrite')
    values[':excerptWrite'] = excerptWrite
  }
  const clauses = { SET: set, REMOVE: remove, ADD: add }
  return table.transactUpdate(taskKey(scope, taskId), {
    expression: Object.entries(clauses)
      .filter(([, parts]) => parts.length > 0)
      .map(([clause, parts]) => `${clause} ${parts.join(', ')}`)
      .join(' '),
    condition: conditions.join(' AND '),
    names,
    values,
  })
}

function excerptAction(
  { table, scope }: MemoryContext,
  of: { generation: string; write: string },
  { taskId, summary }: TaskWrite,
): TransactAction[] {
  const key = excerptKey(scope, taskId)
  const put = (text: string) => [table.transactPut({ ...key, ...of, text })]
  if (summary?.kind === 'newest') return put(summary.excerpt)
  if (summary?.kind !== 'emptied') return []
  if (summary.next) return put(summary.next.excerpt)
  return [table.transactDelete(key, { condition: 'attribute_exists(pk)', names: {}, values: {} })]
}
