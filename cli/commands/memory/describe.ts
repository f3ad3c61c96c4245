import type { Artifact, Task, Turn, TurnOverview } from '../../../client/index.ts'
import { isoTime } from '../../format.ts'
import { JsonText } from '../../output.ts'

/** Results as the API names their fields. */

export function describeTask(task: Task) {
  return {
    task_id: task.taskId,
    latest_turn: task.latestTurn,
    turn_count: task.turnCount,
    created_by: task.createdBy,
    created_at: isoTime(task.createdAt),
    updated_at: isoTime(task.updatedAt),
    retain_until: isoTime(task.retainUntil),
  }
}

/** With its turns. */
export function taskJson(task: Task, turns: readonly TurnOverview[]): JsonText {
  const described = Object.entries(describeTask(task)).map(([name, value]) => [name, JSON.stringify(value)])
  return objectJson({
    ...Object.fromEntries(described),
    turns: `[${turns.map((turn) => turnJson(turn).text).join()}]`,
  })
}

/** The meta stands in it as it was written. */
export function turnJson(turn: Turn | TurnOverview): JsonText {
  return objectJson({
    task_id: JSON.stringify(turn.taskId),
    turn: String(turn.turn),
    meta: turn.metaJson,
    ...('summaryMd' in turn && { summary_md: JSON.stringify(turn.summaryMd) }),
    artifacts: JSON.stringify(turn.artifacts.map(describeArtifact)),
    created_at: JSON.stringify(isoTime(turn.createdAt)),
    updated_at: JSON.stringify(isoTime(turn.updatedAt)),
    retain_until: JSON.stringify(isoTime(turn.retainUntil)),
  })
}

function objectJson(members: Record<string, string>): JsonText {
  return new JsonText(
    `{${Object.entries(members)
      .map(([name, text]) => `"${name}":${text}`)
      .join()}}`,
  )
}

export function describeArtifact(artifact: Artifact) {
  return {
    name: artifact.name,
    size_bytes: artifact.sizeBytes,
    content_type: artifact.contentType,
    sha256: artifact.sha256,
    created_at: isoTime(artifact.createdAt),
    updated_at: isoTime(artifact.updatedAt),
  }
}
