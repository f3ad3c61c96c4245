import * as z from 'zod'

/** The parameters of lists that are told by pages of up to 1,000. */
export const limit = z
  .string()
  .regex(/^([1-9]\d{0,2}|1000)$/, 'must be a whole number from 1 to 1000')
  .default('100')
  .transform(Number)
  .describe('How many, from 1 to 1000.')
export const page = z.string().optional().describe('The `next_page` of the page before.')
