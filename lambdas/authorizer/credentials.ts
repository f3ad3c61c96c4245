import type { APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { headerValues } from '../shared/request.ts'

/** What a caller shows: an API key, a token of the identity provider, or both. */
export interface Credentials {
  key: string | undefined
  token: string | undefined
}

const bearerPattern = /^bearer +(?<token>[\w.~+/-]+=*)$/i

/** What no token begins with. */
const KEY_PREFIX = 'skp_'

/**
 * The credentials of a request; null when there are none, or one is repeated or malformed. An API key may stand where a
 * token does: some clients, such as Anthropic's, send theirs so.
 */
export function readCredentials(event: APIGatewayRequestAuthorizerEvent): Credentials | null {
  const keys = headerValues(event, 'X-Api-Key')
  const authorizations = headerValues(event, 'Authorization')
  if (keys.length > 1 || authorizations.length > 1) return null
  const [key] = keys
  const [authorization] = authorizations
  if (authorization === undefined) return key === undefined ? null : { key, token: undefined }
  const token = bearerPattern.exec(authorization)?.groups?.token
  if (token === undefined) return null
  if (!token.startsWith(KEY_PREFIX)) return { key, token }
  return key === undefined ? { key: token, token: undefined } : null
}
