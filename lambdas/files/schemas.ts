import * as z from 'zod'
import { FILE_SCOPES } from '../../src/files/types.ts'

const wholeNumber = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number)
export const nothing = z.strictObject({})
const placement = { scope: z.enum(FILE_SCOPES).default('user'), origin: z.literal('sandbox').optional() }
export const formFields = z.strictObject({ ...placement, expires_in_seconds: wholeNumber.optional() })
export const upload = z.strictObject({
  ...placement,
  filename: z.string(),
  mime_type: z.string(),
  size_bytes: z.number(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, 'must be 64 hex digits')
    .transform((hex) => hex.toLowerCase())
    .optional(),
  expires_in_seconds: z.number().optional(),
})
export const list = z.strictObject({
  limit: wholeNumber.optional().describe('How many, from 1 to 100. Default 20.'),
  page: z.string().optional().describe('The `next_page` of the page before.'),
})
