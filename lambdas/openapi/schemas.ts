import * as z from 'zod'
import { EXCHANGE_LIMIT } from '../../src/limits.ts'
import { ERROR_CODES, type ErrorCode } from './error-codes.ts'
import type { Answer } from './operation.ts'

/** Parts of bodies that several services have. */

export const timestamp = z.iso
  .datetime({ precision: 3 })
  .meta({ id: 'Timestamp', description: 'RFC 3339, UTC, with milliseconds.', examples: ['2025-11-30T12:00:00.000Z'] })

export const count = z.int().min(0)
export const nextPage = z.string().nullable().describe('Give it as `page` for what follows; null on the last page.')
export const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .meta({ id: 'Sha256', description: 'In lowercase hex.' })

/** What `presigned()` gives. */
export const presignedFields = {
  method: z.enum(['GET', 'PUT']),
  url: z.url(),
  headers: z.record(z.string(), z.string()).describe('Send these and no others.'),
  expires_at: timestamp,
}

export const startedUpload = z
  .strictObject({ upload_id: z.string(), ...presignedFields, method: z.literal('PUT') })
  .meta({ id: 'StartedUpload', description: 'A presigned request that takes the bytes.' })

export const uploadReference = z
  .strictObject({ upload_id: z.string() })
  .meta({ id: 'UploadReference', description: 'Stands for a body that was uploaded under this id.' })

/** The only fields of a body that says nothing. */
export const nothing = z.strictObject({}).meta({ id: 'Nothing', description: 'An empty object.' })

export const errorBody = z
  .strictObject({
    error: z.strictObject({
      code: z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]),
      message: z.string().describe('For people; it may change.'),
      field: z.string().optional().describe('The field, header or parameter that broke the rule.'),
      keys: z.array(z.string()).max(EXCHANGE_LIMIT).optional().describe('Of `blob_missing`: the first of the blobs.'),
      upload: z.string().optional().describe('Of `payload_too_large`: the path to announce the payload at.'),
      uploads: z.record(z.string(), z.string()).optional().describe('Where `upload` is empty: the paths of all kinds.'),
    }),
  })
  .meta({ id: 'Error' })

/** Of answers with JSON that may be larger than what a function answers. */
export const largeAnswer: Answer = {
  description: 'The answer is large. Fetch it from `location`, without headers of your own.',
  headers: { location: 'A presigned GET of the JSON that would stand in the answer 200 or 201.' },
  content: {
    'application/json': z
      .strictObject({ location: z.url(), size_bytes: count })
      .meta({ id: 'LargeAnswer', description: 'Where a large answer is.' }),
  },
}

export const noContent: Answer = { description: 'Done.' }

/** An answer with JSON. */
export function jsonAnswer(description: string, schema: z.ZodType): Answer {
  return { description, content: { 'application/json': schema } }
}
