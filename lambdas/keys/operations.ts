import * as z from 'zod'
import { RIGHTS, ROLES } from '../../src/keys/types.ts'
import type { Operation } from '../openapi/operation.ts'
import { jsonAnswer, nextPage, noContent, timestamp } from '../openapi/schemas.ts'
import type { KeyAction } from './routes.ts'
import { binding, create, list, revoke } from './schemas.ts'

export const keyRecord = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    role: z.enum(ROLES),
    bindings: z.array(binding),
    rights: z.array(z.enum(RIGHTS)),
    created_at: timestamp,
    revoked_at: timestamp.optional(),
  })
  .meta({ id: 'ApiKey', description: 'An API key, without its text.' })

/** What the keys service takes and answers. */
export const OPERATIONS: Record<KeyAction, Operation> = {
  create: {
    id: 'createKey',
    summary: 'Make an API key',
    description: "It reaches no further than the caller's own.",
    body: { 'application/json': create },
    answers: {
      201: jsonAnswer(
        'The key.',
        z.strictObject({ key: z.string().describe('Its text, which is shown this once.'), record: keyRecord }),
      ),
    },
  },
  list: {
    id: 'listKeys',
    summary: 'List API keys',
    query: list,
    answers: {
      200: jsonAnswer('The oldest first.', z.strictObject({ keys: z.array(keyRecord), next_page: nextPage })),
    },
  },
  revoke: {
    id: 'revokeKey',
    summary: 'Revoke an API key',
    description: 'It takes effect at once.',
    body: { 'application/json': revoke },
    answers: { 204: noContent },
    errors: ['not_found'],
  },
}
