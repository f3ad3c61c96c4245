import { readQuery } from './body-text.ts'
import type { ApiMiddleware, ApiRequest } from './request.ts'

/** Sets `call.body` to the query parameters, for services whose requests have no body. @throws InvalidInputError */
export function query(): ApiMiddleware {
  const queryBefore = ({ event }: ApiRequest): void => {
    event.call = { ...event.call, body: readQuery(event) }
  }
  return { before: queryBefore }
}
