import * as z from 'zod'
import type { Operation } from '../openapi/operation.ts'
import { jsonAnswer } from '../openapi/schemas.ts'
import * as answers from './answer-schemas.ts'
import type { CheckpointAction } from './routes.ts'
import * as schemas from './schemas.ts'

export const sweepOperations: Record<Extract<CheckpointAction, `sweep${string}` | 'usage'>, Operation> = {
  sweepStart: {
    id: 'startSweep',
    summary: 'Start a sweep of the project',
    description: 'It deletes what no checkpoint uses any more, in the background.',
    body: { 'application/json': schemas.sweepStart },
    answers: { 202: jsonAnswer('It begins.', z.strictObject({ sweep_id: z.string() })) },
  },
  sweepList: {
    id: 'listSweeps',
    summary: 'List the reports of sweeps',
    description: 'Reports are kept for 90 days.',
    query: schemas.sweepList,
    answers: { 200: jsonAnswer('The newest first.', z.strictObject({ sweeps: z.array(answers.sweepReport) })) },
  },
  usage: {
    id: 'getUsage',
    summary: 'Tell what the project keeps',
    query: schemas.usage,
    answers: { 200: jsonAnswer('The counts.', answers.usage) },
  },
}
