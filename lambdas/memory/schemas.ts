import * as z from 'zod'

/** The query of a route that takes no parameter. */
export const noParameters = z.strictObject({})

const limit = z
  .string()
  .regex(/^([1-9]\d{0,2}|1000)$/, 'must be a whole number from 1 to 1000')
  .default('100')
  .transform(Number)
  .describe('How many, from 1 to 1000.')
export const aPage = z.strictObject({
  limit,
  page: z.string().optional().describe('The `next_page` of the page before.'),
})

export const upload = z.strictObject({
  size_bytes: z.int().min(0),
  content_type: z.string().default('application/octet-stream'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, 'must be 64 hex digits')
    .transform((hex) => hex.toLowerCase())
    .optional(),
})
