import { summaryObjectKey } from '../blobs/object-keys.ts'
import { PreconditionFailedError } from '../errors.ts'
import { turnKey, turnPartition, turnSortKey } from '../table/keys.ts'
import { commit } from './commit.ts'
import type { MemoryContext } from './context.ts'
import { excerptOf } from './excerpt.ts'
import {
  INLINE_SUMMARY_BYTES,
  isOfGeneration,
  notOfGeneration,
  ofGeneration,
  type SummaryPlace,
  type TaskItem,
  type TurnItem,
} from './items.ts'
import { newGeneration, newObjectName } from './objects.ts'
import { lastUpdate } from './read.ts'
import { readArtifacts, readItems } from './state.ts'
import { retainedUntil, type SummaryChange, taskActions, writtenTask } from './task-change.ts'
import type { TurnRecord, TurnWrite } from './types.ts'
import { checkTurnWrite } from './validate.ts'

const SUMMARY_TYPE = 'text/markdown; charset=utf-8'

export async function putTurn(context: MemoryContext, write: TurnWrite): Promise<TurnRecord> {
  checkTurnWrite(write)
  const { table, scope } = context
  const { taskId, turn, meta, summary, by } = write
  const fresh = newGeneration()
  const began = context.now()
  const placeSummary = summaryPlacer(context, write)
  return commit(table, async () => {
    const state = await readItems(context, write)
    const task = writtenTask(state.task, context.now(), fresh)
    const { generation } = task
    const now = task.live ? began : context.now()
    const known = task.live && state.turn
    if (known && write.ifAbsent) {
      throw new PreconditionFailedError('turn_exists', `The task has a turn ${turn} already.`)
    }
    const item: TurnItem = {
      generation,
      meta,
      ...(await placeSummary(generation)),
      createdAt: known?.createdAt ?? now,
      updatedAt: now,
    }
    const change = await summaryChange(context, write, task.live)
    const index = task.live ? state.index : undefined
    return {
      actions: [
        ...taskActions(context, task, { taskId, turn, isNewTurn: !known, summary: change, by, now }),
        table.transactPut(
          { ...turnKey(scope, taskId, turn), ...item },
          known ? isOfGeneration(generation) : notOfGeneration(generation),
        ),
      ],
      result: {
        taskId,
        turn,
        meta,
        summaryMd: summary,
        artifacts: await readArtifacts(context, write, index),
        createdAt: item.createdAt,
        updatedAt: lastUpdate(item, index),
        retainUntil: retainedUntil(context, task, now),
      },
    }
  })
}

/** Puts a large summary into the bucket, once for each generation that it turns out to belong to. */
function summaryPlacer({ objects, scope }: MemoryContext, { taskId, turn, summary }: TurnWrite) {
  const bytes = Buffer.from(summary)
  const placed = new Map<string, SummaryPlace>()
  return async (generation: string): Promise<SummaryPlace> => {
    if (bytes.length <= INLINE_SUMMARY_BYTES) return { summary }
    const known = placed.get(generation)
    if (known) return known
    const object = newObjectName(generation)
    await objects.put(summaryObjectKey(scope, { taskId, turn, object }), bytes, SUMMARY_TYPE)
    const place = { summaryObject: object, excerpt: excerptOf(summary) }
    placed.set(generation, place)
    return place
  }
}

async function summaryChange(
  context: MemoryContext,
  { turn, summary }: TurnWrite,
  task: TaskItem | undefined,
): Promise<SummaryChange> {
  const newest = task?.summaryTurn
  if (summary !== '') {
    return newest === undefined || turn >= newest ? { kind: 'newest', excerpt: excerptOf(summary) } : { kind: 'older' }
  }
  if (!task || turn !== newest) return { kind: 'none' }
  return { kind: 'emptied', next: await newestBefore(context, task, turn) }
}

/** The highest turn below another that has a summary. */
async function newestBefore({ table, scope }: MemoryContext, { taskId, generation }: TaskItem, turn: number) {
  const options = { after: turnSortKey(turn), reverse: true, firstPageSize: 10 }
  for await (const items of table.query(turnPartition(scope, taskId), options)) {
    for (const item of items) {
      const found = item.meta === undefined ? undefined : ofGeneration<TurnItem>(item, generation)
      const excerpt = found && shownOf(found)
      if (excerpt) return { turn: Number(item.sk), excerpt }
    }
  }
  return undefined
}

/** What the catalog would show of a turn. */
function shownOf(turn: TurnItem): string {
  return 'summary' in turn ? excerptOf(turn.summary) : turn.excerpt
}
