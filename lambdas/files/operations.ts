import * as z from 'zod'
import { FILE_EXPIRY_SECONDS, MAX_FILE_BYTES } from '../../src/files/rules.ts'
import { INLINE_LIMIT_BYTES } from '../../src/limits.ts'
import type { ErrorCode } from '../openapi/error-codes.ts'
import type { Operation } from '../openapi/operation.ts'
import { count, jsonAnswer, nextPage, noContent, startedUpload, timestamp } from '../openapi/schemas.ts'
import { actingUserHeaders } from '../shared/acting-user-headers.ts'
import type { FileAction } from './routes.ts'
import { formFields, list, nothing, upload } from './schemas.ts'

export const file = z
  .strictObject({
    type: z.literal('file'),
    id: z.string(),
    filename: z.string(),
    mime_type: z.string(),
    size_bytes: count,
    created_at: timestamp,
    downloadable: z.boolean().describe('What was uploaded is not; what a sandbox made is.'),
    expires_at: timestamp.nullable(),
  })
  .meta({ id: 'File' })

const headers = actingUserHeaders
const params = z.object({ file_id: z.string().describe('Of the file.') })
const provider: ErrorCode[] = ['upstream_busy', 'upstream_failed']
const { least, most } = FILE_EXPIRY_SECONDS

/** What the files service takes and answers. */
export const OPERATIONS: Record<FileAction, Operation> = {
  create: {
    id: 'createFile',
    summary: 'Upload a file',
    description: `In a form, of at most ${INLINE_LIMIT_BYTES} bytes. Announce one that is larger.`,
    headers,
    body: { 'multipart/form-data': formFields.extend({ file: z.file().describe('With its name.') }) },
    answers: { 201: jsonAnswer('The file.', file) },
    errors: [...provider, 'file_refused', 'storage_full'],
  },
  list: {
    id: 'listFiles',
    summary: 'List the files of the user and of the app',
    headers,
    query: list,
    answers: {
      200: jsonAnswer('The newest first.', z.strictObject({ data: z.array(file), next_page: nextPage })),
    },
  },
  get: {
    id: 'getFile',
    summary: 'Get what is known of a file',
    headers,
    params,
    query: nothing,
    answers: { 200: jsonAnswer('The file.', file) },
    errors: [...provider, 'not_found'],
  },
  delete: {
    id: 'deleteFile',
    summary: 'Delete a file',
    headers,
    params,
    query: nothing,
    answers: { 204: noContent },
    errors: [...provider, 'not_found'],
  },
  startUpload: {
    id: 'startFileUpload',
    summary: 'Announce a large file',
    description: 'Upload the bytes with the request in the answer, and complete the upload.',
    headers,
    body: {
      'application/json': upload.extend({
        size_bytes: z.int().min(0).max(MAX_FILE_BYTES),
        expires_in_seconds: z.int().min(least).max(most).optional(),
      }),
    },
    answers: { 201: jsonAnswer('Where to upload it.', startedUpload) },
  },
  completeUpload: {
    id: 'completeFileUpload',
    summary: 'Make a file of what was uploaded',
    headers,
    params: z.object({ upload_id: z.string().describe('Of the upload.') }),
    body: { 'application/json': nothing },
    bodyOptional: true,
    answers: {
      200: jsonAnswer('The file, which was made before.', file),
      201: jsonAnswer('The file.', file),
    },
    errors: [...provider, 'not_found', 'upload_incomplete', 'file_refused', 'storage_full'],
  },
}
