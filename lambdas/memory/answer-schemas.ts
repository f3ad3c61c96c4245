import * as z from 'zod'
import { count, nextPage, sha256, timestamp } from '../openapi/schemas.ts'
import { turnMeta } from './turn-schema.ts'

const taskId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/)
const turnNumber = z.int().min(0).max(9_999)

const artifactFields = {
  name: z.string(),
  size_bytes: count,
  content_type: z.string(),
  sha256,
  created_at: timestamp,
  updated_at: timestamp,
}

export const artifact = z.strictObject(artifactFields).meta({ id: 'Artifact' })
export const artifactPlace = z
  .strictObject({ location: z.url(), ...artifactFields })
  .meta({ id: 'ArtifactPlace', description: 'A large artifact, and where its bytes are.' })

const overviewFields = {
  task_id: taskId,
  turn: turnNumber,
  meta: turnMeta,
  artifacts: z.array(artifact),
  created_at: timestamp,
  updated_at: timestamp,
  retain_until: timestamp.describe("The task's."),
}

export const turn = z.strictObject({ ...overviewFields, summary_md: z.string() }).meta({ id: 'Turn' })
export const turnOverview = z.strictObject(overviewFields).meta({ id: 'TurnOverview' })

const taskFields = {
  task_id: taskId,
  latest_turn: turnNumber,
  turn_count: count,
  created_by: z.string().describe('The `sub` of a token, or the id of an API key.'),
  created_at: timestamp,
  updated_at: timestamp,
  retain_until: timestamp,
}

export const task = z.strictObject(taskFields).meta({ id: 'Task' })
export const taskPage = z
  .strictObject({ ...taskFields, turns: z.array(turnOverview), next_page: nextPage })
  .meta({ id: 'TaskPage', description: 'A task with a page of its turns.' })
