import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { ProviderUnavailableError } from '../../src/access/fetch-json.ts'
import type { OidcSettings } from '../../src/access/settings.ts'
import { createTokenAccess, type TokenAccess, type TokenRecord } from '../../src/access/tokens.ts'
import { createKeyStore, type KeyStoreConfig, type VerifiedKey } from '../../src/keys/store.ts'
import { type Counted, slotOf, type ThrottleSlots } from '../../src/keys/throttle-slots.ts'
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
  /** Not given: the gateway counts nobody's requests. */
  slots?: ThrottleSlots | undefined
}

interface Identified {
  caller: Caller | typeof UNAVAILABLE
  /** Of the caller's key. */
  number?: number | undefined
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
  return createAuthorizer((key) => keys.verify(key), tokens, config.slots)
}

/** The same over any source of keys and of tokens. */
export function createAuthorizer(
  verifyKey: (key: string) => Promise<VerifiedKey | null>,
  tokens?: TokenAccess,
  slots?: ThrottleSlots,
): AuthorizerHandler {
  /** Null: not with these credentials. */
  const identify = async (event: Event): Promise<Identified | null> => {
    const credentials = readCredentials(event)
    if (!credentials) return null
    // First: a key that is not valid is refused whether or not the identity provider answers.
    const record = credentials.key === undefined ? undefined : await verifyKey(credentials.key)
    if (record === null) return null
    if (credentials.token === undefined) return identified(record, undefined, 'granted')
    const token = await tokens?.verify(credentials.token)
    if (!tokens || !token) return null
    const route = routeOf(event.httpMethod, event.resource)
    const decision = route ? await tokens.decide(token, route.permission) : 'denied'
    return decision === 'invalid' ? null : identified(record, token, decision)
  }

  return async (event) => {
    const found = await identify(event).catch((error: unknown) => failure(error, event))
    // The gateway answers 401 to this very message.
    if (found === null) throw new Error('Unauthorized')
    return { ...allow(found.caller, event), ...(slots && { usageIdentifierKey: slotOf(slots, counted(found)) }) }
  }
}

function identified(
  key: VerifiedKey | undefined,
  token: TokenRecord | undefined,
  decision: 'granted' | 'denied',
): Identified | null {
  const caller = callerOf(key, token, decision)
  return caller && { caller, number: key?.number }
}

/** With a key beside a token it is the key whose requests are counted. */
function counted({ caller, number }: Identified): Counted | undefined {
  return caller === UNAVAILABLE ? undefined : { number, id: caller.keyId ?? caller.id }
}

/** What goes on from here becomes the gateway's 500, which tells nobody why. */
function failure(error: unknown, event: Event): Identified {
  const fields = { request_id: event.requestContext?.requestId, error }
  if (error instanceof ProviderUnavailableError) {
    log('WARN', 'The identity provider did not answer.', fields)
    return { caller: UNAVAILABLE }
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
