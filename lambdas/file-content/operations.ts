import * as z from 'zod'
import type { Operation } from '../openapi/operation.ts'
import { actingUserHeaders } from '../shared/acting-user-headers.ts'
import type { FileContentAction } from './routes.ts'
import { input } from './schemas.ts'

const place = { 'application/json': z.strictObject({ location: z.url() }) }

/** What the function of the contents takes and answers. */
export const OPERATIONS: Record<FileContentAction, Operation> = {
  content: {
    id: 'getFileContent',
    summary: 'Download a file',
    description: 'Only what a sandbox made can be downloaded.',
    headers: actingUserHeaders,
    params: z.object({ file_id: z.string().describe('Of the file.') }),
    query: input,
    answers: {
      200: {
        description: 'The bytes, of its own content type; or JSON with the `location` of it, by `redirect=manual`.',
        headers: {
          'content-disposition': 'An attachment, by its name.',
          'x-sandbox-location': 'The presigned GET of the bytes that is in the JSON.',
        },
        content: { '*/*': 'bytes' },
      },
      307: {
        description: 'Fetch it from `location`, without headers of your own.',
        headers: { location: 'A presigned GET of the bytes.' },
        content: place,
      },
    },
    errors: ['not_found', 'file_not_downloadable', 'upstream_busy', 'upstream_failed'],
  },
}
