import type { APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { headerValues } from '../shared/request.ts'

/** What a caller shows: an API key, a token of the identity provider, or both. */
export interface Credentials {
  key: string | undefined
  token: string | undefined
}

const bearerPattern = /^bearer +(?<token>[\w.~+/-]+=*)$/i

/** The credentials of a request; null when there are none, or one is repeated or malformed. */
export function readCredentials(event: APIGatewayRequestAuthorizerEvent): Credentials | null {
  const keys = headerValues(event, 'X-Api-Key')
  const authorizations = headerValues(event, 'Authorization')
  if (keys.length > 1 || authorizations.length > 1) return null
  const [key] = keys
  const [authorization] = authorizations
  if (authorization === undefined) return key === undefined ? null : { key, token: undefined }
  const token = bearerPattern.exec(authorization)?.groups?.token
  return token === undefined ? null : { key, token }
}
