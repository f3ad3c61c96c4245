import { jsonMembers } from '../src/json/source.ts'
import type { Artifact, Task, Turn, TurnMeta, TurnOverview } from './memory-types.ts'

export interface ArtifactJson {
  name: string
  size_bytes: number
  content_type: string
  sha256: string
  created_at: string
  updated_at: string
}

export interface TurnJson {
  task_id: string
  turn: number
  meta: TurnMeta
  summary_md: string
  artifacts: ArtifactJson[]
  created_at: string
  updated_at: string
  retain_until: string
}

export interface TaskJson {
  task_id: string
  latest_turn: number
  turn_count: number
  created_by: string
  created_at: string
  updated_at: string
  retain_until: string
}

export function readArtifact(json: ArtifactJson): Artifact {
  return {
    name: json.name,
    sizeBytes: json.size_bytes,
    contentType: json.content_type,
    sha256: json.sha256,
    createdAt: Date.parse(json.created_at),
    updatedAt: Date.parse(json.updated_at),
  }
}

export function readTurnOverview(json: Omit<TurnJson, 'summary_md'>): TurnOverview {
  return {
    taskId: json.task_id,
    turn: json.turn,
    meta: json.meta,
    artifacts: json.artifacts.map(readArtifact),
    createdAt: Date.parse(json.created_at),
    updatedAt: Date.parse(json.updated_at),
    retainUntil: Date.parse(json.retain_until),
  }
}

export function readTurn(json: TurnJson, metaJson: string): Turn {
  return { ...readTurnOverview(json), metaJson, summaryMd: json.summary_md }
}

export function readTask(json: TaskJson): Task {
  return {
    taskId: json.task_id,
    latestTurn: json.latest_turn,
    turnCount: json.turn_count,
    createdBy: json.created_by,
    createdAt: Date.parse(json.created_at),
    updatedAt: Date.parse(json.updated_at),
    retainUntil: Date.parse(json.retain_until),
  }
}

/** The text of the meta within the text of a turn. */
export function metaTextOf(text: string): string {
  const meta = jsonMembers(text).find(({ name }) => name === 'meta')
  return text.slice(meta?.value.start, meta?.value.end)
}
