import * as z from 'zod'
import type { Operation } from '../openapi/operation.ts'
import type { ProjectMdAction } from './routes.ts'

/** What the function of the document takes and answers. */
export const OPERATIONS: Record<ProjectMdAction, Operation> = {
  projectMd: {
    id: 'getProjectMd',
    summary: "Get the project's memory as one document",
    query: z.strictObject({}),
    answers: {
      200: { description: 'Streamed, of any length.', content: { 'text/markdown': 'text' } },
    },
  },
}
