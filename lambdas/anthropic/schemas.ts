import * as z from 'zod'

export const listInput = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .optional()
    .describe('How many, from 1 to 100. Default 20.'),
  page: z.string().optional().describe('The `next_page` of the page before.'),
})
