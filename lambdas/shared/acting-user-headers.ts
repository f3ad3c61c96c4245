import * as z from 'zod'
import { USER_HEADER } from './acting-user.ts'

/** The headers of the functions that ask for whom a request acts, for the description of the API. */
export const actingUserHeaders = z.object({
  [USER_HEADER]: z
    .string()
    .regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/)
    .optional()
    .describe(
      'The user for whom an API key with the right `act_for_users` calls. Beside a token: its `sub`. Without it and ' +
        "without a token the call is the app's owner's.",
    ),
})
