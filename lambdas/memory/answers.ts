import type { ArtifactRecord, TaskRecord, TurnOverview, TurnRecord } from '../../src/memory/types.ts'
import { timestamp } from '../shared/timestamp.ts'

/** The JSON text of a turn. Its meta stands in it as it was written: parsed, numbers would lose digits. */
export function turnText(turn: TurnOverview | TurnRecord): string {
  return objectText({
    task_id: JSON.stringify(turn.taskId),
    turn: String(turn.turn),
    meta: turn.meta,
    ...('summaryMd' in turn && { summary_md: JSON.stringify(turn.summaryMd) }),
    artifacts: JSON.stringify(turn.artifacts.map(shownArtifact)),
    created_at: timeText(turn.createdAt),
    updated_at: timeText(turn.updatedAt),
    retain_until: timeText(turn.retainUntil),
  })
}

/** The JSON text of a task with a page of its turns. */
export function taskText(task: TaskRecord, turns: readonly TurnOverview[], nextPage: string | null): string {
  return objectText({
    ...Object.fromEntries(Object.entries(shownTask(task)).map(([name, value]) => [name, JSON.stringify(value)])),
    turns: `[${turns.map(turnText).join()}]`,
    next_page: JSON.stringify(nextPage),
  })
}

export function shownTask(task: TaskRecord) {
  return {
    task_id: task.taskId,
    latest_turn: task.latestTurn,
    turn_count: task.turnCount,
    created_by: bareId(task.createdBy),
    created_at: timestamp(task.createdAt),
    updated_at: timestamp(task.updatedAt),
    retain_until: timestamp(task.retainUntil),
  }
}

export function shownArtifact(artifact: ArtifactRecord) {
  return {
    name: artifact.name,
    size_bytes: artifact.sizeBytes,
    content_type: artifact.contentType,
    sha256: artifact.sha256,
    created_at: timestamp(artifact.createdAt),
    updated_at: timestamp(artifact.updatedAt),
  }
}

/** An owner text without its kind. */
function bareId(owner: string): string {
  return owner.slice(owner.indexOf(':') + 1)
}

function objectText(members: Record<string, string>): string {
  return `{${Object.entries(members)
    .map(([name, text]) => `"${name}":${text}`)
    .join()}}`
}

function timeText(milliseconds: number): string {
  return JSON.stringify(timestamp(milliseconds))
}
