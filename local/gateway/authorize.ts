import type { APIGatewayEventDefaultAuthorizerContext } from 'aws-lambda'
import { authorizerEvent, methodArn } from './event.ts'
import { FunctionError, invoke, type LambdaHandler } from './invoke.ts'
import type { FunctionModel } from './model.ts'
import type { ReceivedRequest } from './received-request.ts'
import { Refusal } from './refusal.ts'
import type { Match } from './router.ts'
import { isRecord } from './template.ts'

/** The gateway waits so long for an authorizer at most. */
const WAIT_MS = 29_000

/** What an authorizer says of a request that it lets through. */
export interface Authorized {
  /** What the functions get to know of it. */
  context: APIGatewayEventDefaultAuthorizerContext
  /** The value of the API key that the request counts for. */
  usageKey: string | undefined
}

/**
 * Asks the authorizer.
 * @throws Refusal UNAUTHORIZED, ACCESS_DENIED, or AUTHORIZER_CONFIGURATION_ERROR where the authorizer failed
 */
export async function authorize(
  model: FunctionModel,
  handler: LambdaHandler,
  request: ReceivedRequest,
  match: Match,
): Promise<Authorized> {
  const result = await ask(model, handler, request, match)
  if (!isRecord(result) || typeof result.principalId !== 'string' || !isRecord(result.policyDocument)) {
    throw new Refusal('AUTHORIZER_CONFIGURATION_ERROR', { cause: new Error('The authorizer gave no policy.') })
  }
  if (!allows(result.policyDocument, methodArn(request))) throw new Refusal('ACCESS_DENIED')
  const { usageIdentifierKey: key } = result
  return {
    context: { ...readContext(result.context), principalId: result.principalId },
    usageKey: typeof key === 'string' ? key : undefined,
  }
}

async function ask(
  model: FunctionModel,
  handler: LambdaHandler,
  request: ReceivedRequest,
  match: Match,
): Promise<unknown> {
  try {
    return await invoke(model, handler, authorizerEvent(request, match), WAIT_MS)
  } catch (cause) {
    const thrown = cause instanceof FunctionError ? cause.cause : undefined
    // This very message is how an authorizer says so.
    if (thrown instanceof Error && thrown.message === 'Unauthorized') throw new Refusal('UNAUTHORIZED')
    throw new Refusal('AUTHORIZER_CONFIGURATION_ERROR', { cause })
  }
}

function allows(policy: Record<string, unknown>, arn: string): boolean {
  const statements = [policy.Statement].flat().filter(isRecord)
  const applicable = statements.filter(
    ({ Action, Resource }) =>
      [Action].flat().some((action) => matches(action, 'execute-api:Invoke')) &&
      [Resource].flat().some((resource) => matches(resource, arn)),
  )
  return applicable.some(({ Effect }) => Effect === 'Allow') && applicable.every(({ Effect }) => Effect === 'Allow')
}

function matches(pattern: unknown, text: string): boolean {
  if (typeof pattern !== 'string') return false
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${source}$`, 's').test(text)
}

function readContext(context: unknown): Record<string, string> {
  const entries = Object.entries(isRecord(context) ? context : {}).map(([name, value]) => {
    if (typeof value === 'object') {
      throw new Refusal('AUTHORIZER_CONFIGURATION_ERROR', {
        cause: new Error(`The authorizer's context value ${name} must be a string, a number or a boolean.`),
      })
    }
    return [name, String(value)]
  })
  return Object.fromEntries(entries)
}
