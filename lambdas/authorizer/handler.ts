import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { createKeyStore, rightsOf } from '../../src/keys/store.ts'
import type { ApiKeyRecord } from '../../src/keys/types.ts'
import { ownerText } from '../shared/access.ts'
import { type Caller, writeCaller } from '../shared/caller.ts'
import type { HandlerConfig } from '../shared/config.ts'
import { log } from '../shared/log.ts'
import { headerValues } from '../shared/request.ts'

const API_KEY_HEADER = 'X-Api-Key'

type AuthorizerHandler = (event: APIGatewayRequestAuthorizerEvent) => Promise<APIGatewayAuthorizerResult>

/** The API's authorizer: finds out whose key it is. What the key may do, each service checks for itself. */
export function createHandler(config: HandlerConfig): AuthorizerHandler {
  const keys = createKeyStore(config)
  return createAuthorizer((key) => keys.verify(key))
}

/** The same over any source of keys. */
export function createAuthorizer(verify: (key: string) => Promise<ApiKeyRecord | null>): AuthorizerHandler {
  return async (event) => {
    const [key, ...others] = headerValues(event, API_KEY_HEADER)
    const record = key === undefined || others.length > 0 ? null : await verifyLogged(verify, key, event)
    // The gateway answers 401 to this very message.
    if (!record) throw new Error('Unauthorized')
    return allow(callerOf(record), event.methodArn)
  }
}

/** What fails here becomes the gateway's 500, which tells nobody why. */
async function verifyLogged(
  verify: (key: string) => Promise<ApiKeyRecord | null>,
  key: string,
  event: APIGatewayRequestAuthorizerEvent,
): Promise<ApiKeyRecord | null> {
  try {
    return await verify(key)
  } catch (error) {
    log('ERROR', 'The key could not be verified.', { request_id: event.requestContext?.requestId, error })
    throw error
  }
}

function callerOf(record: ApiKeyRecord): Caller {
  const { id, role, bindings } = record
  return { kind: 'key', id, keyId: id, role, bindings: [bindings], rights: rightsOf(record), denied: false }
}

function allow(caller: Caller, methodArn: string): APIGatewayAuthorizerResult {
  const [api, stage] = methodArn.split('/')
  return {
    principalId: ownerText(caller),
    policyDocument: {
      Version: '2012-10-17',
      Statement: [{ Action: 'execute-api:Invoke', Effect: 'Allow', Resource: `${api}/${stage}/*/*` }],
    },
    context: writeCaller(caller),
  }
}
