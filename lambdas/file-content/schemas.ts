import * as z from 'zod'

/** `manual`: for browsers, in which a redirect to another origin is followed blindly, under the origin `null`. */
export const input = z.strictObject({
  redirect: z.literal('manual').optional().describe('To be told where the file is, in place of a redirect.'),
})
