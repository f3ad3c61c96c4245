import * as z from 'zod'
import { INLINE_LIMIT_BYTES, MAX_ARTIFACT_BYTES } from '../../src/limits.ts'
import type { Operation } from '../openapi/operation.ts'
import { jsonAnswer, largeAnswer, nextPage, noContent, startedUpload } from '../openapi/schemas.ts'
import { artifact, artifactPlace, task, taskPage, turn } from './answer-schemas.ts'
import type { MemoryAction } from './routes.ts'
import { aPage, noParameters, upload } from './schemas.ts'
import { turnBody } from './turn-schema.ts'

const taskParams = z.object({
  task_id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/)
    .describe('Of the task.'),
})
const turnParams = taskParams.extend({
  turn: z
    .string()
    .regex(/^\d{1,4}$/)
    .describe('The number of the turn, from 0 to 9999; leading zeros may stand before it.'),
})
const artifactParams = turnParams.extend({
  name: z
    .string()
    .regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$/)
    .describe('Of the artifact.'),
})
const conditions = z.object({
  range: z.string().optional().describe('One range of bytes.'),
  'if-range': z.string().optional().describe('The range counts only where this is the entity tag.'),
  'if-none-match': z.string().optional().describe('Entity tags that the caller has.'),
})
const ofArtifact = {
  etag: 'The SHA-256 of the bytes, in quotes.',
  'cache-control': 'To be kept, and asked for again each time.',
}
const bytes = { '*/*': 'bytes' } as const

/** What the memory service takes and answers. */
export const OPERATIONS: Record<MemoryAction, Operation> = {
  putTurn: {
    id: 'putTurn',
    summary: 'Write a turn of a task',
    description: 'It replaces the meta and the summary of one that is there; its artifacts stay.',
    params: turnParams,
    headers: z.object({
      'if-none-match': z.literal('*').optional().describe('To write only where there is no such turn.'),
    }),
    body: { 'application/json': turnBody },
    answers: { 200: jsonAnswer('The turn.', turn), 303: largeAnswer },
    errors: ['turn_exists'],
  },
  getTurn: {
    id: 'getTurn',
    summary: 'Get a turn',
    params: turnParams,
    query: noParameters,
    answers: { 200: jsonAnswer('The turn.', turn), 303: largeAnswer },
    errors: ['not_found'],
  },
  putArtifact: {
    id: 'putArtifact',
    summary: 'Write an artifact of a turn',
    description: `The body is its bytes, at most ${INLINE_LIMIT_BYTES}. Announce one that is larger.`,
    params: artifactParams,
    body: bytes,
    bodyOptional: true,
    answers: { 200: jsonAnswer('The artifact.', artifact) },
    errors: ['too_many_artifacts'],
  },
  getArtifact: {
    id: 'getArtifact',
    summary: 'Download an artifact',
    params: artifactParams,
    query: noParameters,
    headers: conditions,
    answers: {
      200: {
        description: 'Its bytes, of its own content type.',
        headers: { ...ofArtifact, 'accept-ranges': '`bytes`' },
        content: bytes,
      },
      206: {
        description: 'The range that was asked for.',
        headers: { ...ofArtifact, 'accept-ranges': '`bytes`', 'content-range': 'Which bytes, of how many.' },
        content: bytes,
      },
      304: { description: 'The caller has it.', headers: ofArtifact },
      307: {
        description: 'It is large: fetch it from `location`, without headers of your own.',
        headers: { location: 'A presigned GET of its bytes.' },
        content: { 'application/json': artifactPlace },
      },
      416: {
        description: 'No byte of the range is there.',
        headers: { ...ofArtifact, 'content-range': 'How many bytes there are.' },
      },
    },
    errors: ['not_found'],
  },
  startUpload: {
    id: 'startArtifactUpload',
    summary: 'Announce a large artifact',
    description: `Upload the bytes, at most ${MAX_ARTIFACT_BYTES}, with the request in the answer, and complete the upload.`,
    params: artifactParams,
    body: { 'application/json': upload },
    answers: { 201: jsonAnswer('Where to upload it.', startedUpload) },
    errors: ['too_many_artifacts'],
  },
  completeUpload: {
    id: 'completeArtifactUpload',
    summary: 'Make what was uploaded the artifact',
    description: 'A repeat is answered as the first was.',
    params: artifactParams.extend({ upload_id: z.string().describe('Of the upload.') }),
    answers: { 200: jsonAnswer('The artifact.', artifact) },
    errors: ['not_found', 'upload_incomplete', 'too_many_artifacts'],
  },
  listTasks: {
    id: 'listTasks',
    summary: 'List tasks',
    query: aPage,
    answers: {
      200: jsonAnswer('By their ids.', z.strictObject({ tasks: z.array(task), next_page: nextPage })),
    },
  },
  getTask: {
    id: 'getTask',
    summary: 'Get a task with its turns',
    params: taskParams,
    query: aPage,
    answers: { 200: jsonAnswer('The task with a page of turns, in ascending order.', taskPage), 303: largeAnswer },
    errors: ['not_found'],
  },
  deleteTask: {
    id: 'deleteTask',
    summary: 'Delete a task with all that belongs to it',
    description: 'That of another takes the role `project_admin`. One that is not there is no error.',
    params: taskParams,
    answers: { 204: noContent },
  },
}
