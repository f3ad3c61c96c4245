import { jsonElements, jsonMembers } from '../src/json/source.ts'
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

/** @param text the JSON text that `json` was parsed from */
export function readTurnOverview(json: Omit<TurnJson, 'summary_md'>, text: string): TurnOverview {
  return {
    taskId: json.task_id,
    turn: json.turn,
    meta: json.meta,
    metaJson: memberText(text, 'meta'),
    artifacts: json.artifacts.map(readArtifact),
    createdAt: Date.parse(json.created_at),
    updatedAt: Date.parse(json.updated_at),
    retainUntil: Date.parse(json.retain_until),
  }
}

/** @param text the JSON text that `json` was parsed from */
export function readTurn(json: TurnJson, text: string): Turn {
  return { ...readTurnOverview(json, text), summaryMd: json.summary_md }
}

/** The turns of a task. @param text the JSON text that `json` was parsed from */
export function readTurns(json: { turns: TurnJson[] }, text: string): TurnOverview[] {
  const turns = memberText(text, 'turns')
  const spans = jsonElements(turns)
  return json.turns.map((turn, index) => readTurnOverview(turn, turns.slice(spans[index]?.start, spans[index]?.end)))
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

/** The text of a member's value within the text of an object. */
function memberText(text: string, name: string): string {
  const member = jsonMembers(text).find((each) => each.name === name)
  return text.slice(member?.value.start, member?.value.end)
}
