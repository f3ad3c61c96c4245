import type { Artifact, Task, Turn, TurnOverview } from '../../../client/index.ts'
import { isoTime } from '../../format.ts'

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

export function describeTurn(turn: Turn | TurnOverview) {
  return {
    task_id: turn.taskId,
    turn: turn.turn,
    meta: turn.meta,
    ...('summaryMd' in turn && { summary_md: turn.summaryMd }),
    artifacts: turn.artifacts.map(describeArtifact),
    created_at: isoTime(turn.createdAt),
    updated_at: isoTime(turn.updatedAt),
    retain_until: isoTime(turn.retainUntil),
  }
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
