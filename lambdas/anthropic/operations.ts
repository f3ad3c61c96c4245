import * as z from 'zod'
import { REPLACED_HEADER } from '../../src/anthropic/messages.ts'
import { FILE_SCOPES } from '../../src/files/types.ts'
import type { Operation } from '../openapi/operation.ts'
import { errorBody, jsonAnswer, nextPage, timestamp } from '../openapi/schemas.ts'
import { actingUserHeaders } from '../shared/acting-user-headers.ts'
import type { AnthropicAction } from './routes.ts'
import { listInput } from './schemas.ts'

const container = z
  .strictObject({
    id: z.string(),
    scope: z.enum(FILE_SCOPES),
    created_at: timestamp,
    last_used_at: timestamp.describe('To the minute.'),
    expires_at: timestamp,
  })
  .meta({ id: 'Container', description: 'Of hosted code execution.' })

const messagesError = z
  .looseObject({
    type: z.literal('error'),
    error: z.looseObject({ type: z.string(), message: z.string() }),
  })
  .meta({ id: 'MessagesError', description: 'In the shape of the Messages API.' })

/** The gateway's own refusals have the shape of all others. */
const errors = { errorBody: z.union([messagesError, errorBody]) }

/** What the proxy of the Messages API takes and answers. */
export const OPERATIONS: Record<AnthropicAction, Operation> = {
  messages: {
    id: 'createMessage',
    summary: "Call Anthropic's Messages API",
    description:
      'The request is passed on when its user may use all files and containers in it, and so is the answer: a whole, ' +
      'or a stream of events with `"stream": true`.',
    headers: actingUserHeaders.extend({
      'X-Sandbox-Scope': z
        .enum(FILE_SCOPES)
        .optional()
        .describe('Whose the containers and files are that the call makes. Default `user`.'),
      'anthropic-version': z.string().optional().describe('Passed on. Default: the one that the API knows.'),
      'anthropic-beta': z.string().optional().describe('Passed on.'),
    }),
    query: z.object({ beta: z.string().optional().describe('`true` for the beta form of the route.') }),
    body: { 'application/json': z.looseObject({}).describe('Of the Messages API.') },
    answers: {
      200: {
        description: 'Of the Messages API.',
        headers: {
          [REPLACED_HEADER]: 'The container of the request, which was gone.',
          'request-id': 'Of the request.',
        },
        content: { 'application/json': z.looseObject({}), 'text/event-stream': 'text' },
      },
      '5XX': { description: 'Of the Messages API.', content: { 'application/json': messagesError } },
    },
    errors: ['not_found', 'not_configured', 'upstream_refused', 'upstream_failed'],
    ...errors,
  },
  containers: {
    id: 'listContainers',
    summary: 'List the containers of the user and of the app',
    headers: actingUserHeaders,
    query: listInput,
    answers: {
      200: jsonAnswer('The newest first.', z.strictObject({ data: z.array(container), next_page: nextPage })),
    },
    ...errors,
  },
}
