import * as z from 'zod'

export const listInput = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .optional(),
  page: z.string().optional(),
})
