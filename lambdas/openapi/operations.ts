import * as z from 'zod'
import type { Operation } from './operation.ts'
import type { OpenapiAction } from './routes.ts'

const headers = { etag: 'Changes with the document.', 'cache-control': 'How long it may be kept.' }

/** What the function of this description takes and answers. */
export const OPERATIONS: Record<OpenapiAction, Operation> = {
  document: {
    id: 'getOpenapi',
    summary: 'Get this description of the API',
    headers: z.object({
      'if-none-match': z.string().optional().describe('Entity tags that the caller has.'),
    }),
    answers: {
      200: {
        description: 'In OpenAPI 3.1.',
        headers,
        content: { 'application/json': z.looseObject({ openapi: z.string() }) },
      },
      304: { description: 'The caller has it.', headers },
    },
  },
}
