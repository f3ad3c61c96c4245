import { ForbiddenError, InvalidInputError } from '../../src/errors.ts'
import { userOwner } from '../../src/files/items.ts'
import { APP_OWNER } from '../../src/files/types.ts'
import { hasRight } from './access.ts'
import {
  type ApiEvent,
  type ApiMiddleware,
  type ApiRequest,
  type Call,
  headerValues,
  type Principal,
} from './request.ts'

/** Names the user for whom an API key acts. */
export const USER_HEADER = 'X-Sandbox-User-Id'

const userPattern = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/

/**
 * Finds out for whom of the app a request acts: the user of its token, the user whom its key names, or the app's owner.
 * @throws InvalidInputError naming the header, ForbiddenError
 */
export function actingUser(): ApiMiddleware {
  const actingUserBefore = ({ event }: ApiRequest): void => {
    const principal = event.call?.principal
    if (!principal) throw new Error('Access comes before the user.')
    event.call = { ...event.call, user: userFor(principal, event) }
  }
  return { before: actingUserBefore }
}

/** The owner's text of the user for whom a request acts. */
export function userOf({ user }: Pick<Call, 'user'>): string {
  if (user === undefined) throw new Error('The function does not ask for whom a request acts.')
  return user
}

function userFor(principal: Principal, event: ApiEvent): string {
  const [named, ...others] = headerValues(event, USER_HEADER)
  if (others.length > 0) throw new InvalidInputError(USER_HEADER, `The header ${USER_HEADER} must stand once.`)
  if (named === undefined) return principal.kind === 'user' ? userOwner(principal.id) : APP_OWNER
  if (!userPattern.test(named)) {
    throw new InvalidInputError(
      USER_HEADER,
      `${USER_HEADER} must be 1 to 255 characters of printable ASCII, without spaces at its ends.`,
    )
  }
  // Beside a token the header may only repeat what the token says.
  if (principal.kind === 'user' && named !== principal.id) throw new ForbiddenError()
  if (principal.kind !== 'user' && !hasRight(principal, 'act_for_users')) {
    throw new ForbiddenError('To act for a user, a key needs the right act_for_users.')
  }
  return userOwner(named)
}
