import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { ProviderUnavailableError } from '../../src/access/fetch-json.ts'
import type { OidcSettings } from '../../src/access/settings.ts'
import { createTokenAccess, type TokenAccess } from '../../src/access/tokens.ts'
import { createKeyStore, type KeyStoreConfig } from '../../src/keys/store.ts'
import type { ApiKeyRecord } from '../../src/keys/types.ts'
import { routeOf } from '../all-routes.ts'
import { ownerText } from '../shared/access.ts'
import { type Caller, UNAVAILABLE, writeCaller } from '../shared/caller.ts'
import { log } from '../shared/log.ts'
import { callerOf } from './caller-of.ts'
import { readCredentials } from './credentials.ts'

type Event = APIGatewayRequestAuthorizerEvent
type AuthorizerHandler = (event: Event) => Promise<APIGatewayAuthorizerResult>

export interface AuthorizerConfig extends KeyStoreConfig {
  /** Not given: no tokens are taken. */
  oidc?: OidcSettings | undefined
}

/**
 * The API's authorizer: finds out who calls. What the caller may do, each service checks for itself, so that all
 * refusals but 401 are the services' own, in their order.
 * @throws InvalidInputError naming a wrong setting of the identity provider
 */
export function createHandler(config: AuthorizerConfig): AuthorizerHandler {
  const keys = createKeyStore(config)
  const onRefusal = (message: string) => log('WARN', message, {})
  const tokens = config.oidc && createTokenAccess(config.oidc, { now: config.now, onRefusal })
  return createAuthorizer((key) => keys.verify(key), tokens)
}

/** The same over any source of keys and of tokens. */
export function createAuthorizer(
  verifyKey: (key: string) => Promise<ApiKeyRecord | null>,
  tokens?: TokenAccess,
): AuthorizerHandler {
  /** Null: not with these credentials. */
  const identify = async (event: Event): Promise<Caller | null> => {
    const credentials = readCredentials(event)
    if (!credentials) return null
    // First: a key that is not valid is refused whether or not the identity provider answers.
    const record = credentials.key === undefined ? undefined : await verifyKey(credentials.key)
    if (record === null) return null
    if (credentials.token === undefined) return callerOf(record, undefined, 'granted')
    const token = await tokens?.verify(credentials.token)
    if (!tokens || !token) return null
    const route = routeOf(event.httpMethod, event.resource)
    const decision = route ? await tokens.decide(token, route.permission) : 'denied'
    return decision === 'invalid' ? null : callerOf(record, token, decision)
  }

  return async (event) => {
    const caller = await identify(event).catch((error: unknown) => failure(error, event))
    // The gateway answers 401 to this very message.
    if (caller === null) throw new Error('Unauthorized')
    return allow(caller, event)
  }
}

/** What goes on from here becomes the gateway's 500, which tells nobody why. */
function failure(error: unknown, event: Event): typeof UNAVAILABLE {
  const fields = { request_id: event.requestContext?.requestId, error }
  if (error instanceof ProviderUnavailableError) {
    log('WARN', 'The identity provider did not answer.', fields)
    return UNAVAILABLE
  }
  log('ERROR', 'The credentials could not be verified.', fields)
  throw error
}

function allow(caller: Caller | typeof UNAVAILABLE, event: Event): APIGatewayAuthorizerResult {
  const [api, stage] = event.methodArn.split('/')
  return {
    principalId: caller === UNAVAILABLE ? UNAVAILABLE : ownerText(caller),
    policyDocument: {
      Version: '2012-10-17',
      Statement: [{ Action: 'execute-api:Invoke', Effect: 'Allow', Resource: `${api}/${stage}/*/*` }],
    },
    context: { ...writeCaller(caller), upload: uploadPath(event) },
  }
}

/** For the gateway, which refuses bodies that no function takes, to say where to announce one instead. */
function uploadPath({ httpMethod, resource, pathParameters }: Event): string {
  const path = routeOf(httpMethod, resource)?.upload ?? ''
  return path.replaceAll(/\{(\w+)\}/g, (_braces, name: string) => encodeURIComponent(pathParameters?.[name] ?? ''))
}
