import { once } from 'node:events'
import net from 'node:net'
import type { APIGatewayProxyEvent, APIGatewayRequestAuthorizerEvent } from 'aws-lambda'
import { onTestFinished } from 'vitest'
import {
  type GatewayOptions,
  type LambdaHandler,
  type LambdaStreamHandler,
  startGateway,
  type Template,
} from '../../local/gateway/index.ts'
import { readApi, readFunctions } from '../../local/gateway/read-api.ts'
import { synthesizeTemplate } from '../../local/template.ts'

export const GET_PATH = '/sandbox/checkpoints/v1/get'
export const KEYS_PATH = '/sandbox/keys/v1'

const synthesized = JSON.stringify(synthesizeTemplate())

/** A template of the test's own, to change as it likes. */
export function freshTemplate(): Template {
  return JSON.parse(synthesized)
}

/** Answers with the event that it was given. */
export const echo: LambdaHandler = async (event: APIGatewayProxyEvent) => ({
  statusCode: 200,
  body: JSON.stringify(event),
})

/** Knows the key `good`, throws what AWS's authorizers throw for others, and fails for `broken`. */
export const authorizer: LambdaHandler = async (event: APIGatewayRequestAuthorizerEvent) => {
  const key = Object.entries(event.headers ?? {}).find(([name]) => name.toLowerCase() === 'x-api-key')?.[1]
  if (key === 'broken') throw new Error('The table is gone.')
  if (key !== 'good' && key !== 'denied') throw new Error('Unauthorized')
  return policy(key === 'good' ? 'Allow' : 'Deny', event.methodArn, { keyId: 'k1', level: 3, on: true })
}

/** Of an API key of the template's usage plan. */
export const USAGE_KEY = String([...readApi(freshTemplate()).throttling.keys.keys()][0])

export function policy(effect: string, resource: string, context: Record<string, unknown> = {}) {
  const statement = { Action: 'execute-api:Invoke', Effect: effect, Resource: resource }
  const policyDocument = { Version: '2012-10-17', Statement: [statement] }
  return { principalId: 'p1', policyDocument, context, usageIdentifierKey: USAGE_KEY }
}

/** Ends its answer before there is one. */
export const endAtOnce: LambdaStreamHandler = async (_event, stream) => {
  stream.end()
}

/** The same handler for each function of the template. */
export function everyFunction<Handler>(handler: Handler): Record<string, Handler> {
  const names = [...readFunctions(freshTemplate()).values()].map(({ name }) => name)
  return Object.fromEntries(names.map((name) => [name, handler]))
}

/** A gateway with tiny handlers that stops when the test ends. */
export async function testGateway(
  handlers: Record<string, LambdaHandler> = {},
  options: Partial<GatewayOptions> = {},
): Promise<string> {
  const gateway = await startGateway({
    template: freshTemplate(),
    handlers: { ...everyFunction(echo), authorizer, ...handlers },
    ...options,
    streamHandlers: { ...everyFunction(endAtOnce), ...options.streamHandlers },
  })
  onTestFinished(() => gateway.stop())
  return gateway.url
}

/** Sends a POST with the good key. */
export function post(url: string, body?: RequestInit['body'], headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { 'x-api-key': 'good', ...headers }, ...(body ? { body } : {}) })
}

/** The event that `echo` answered with. */
export async function eventOf(response: Response): Promise<APIGatewayProxyEvent> {
  return (await response.json()) as APIGatewayProxyEvent
}

/** The status, the error and the request id of a refusal, after a check of its shape. */
export async function refusalOf(response: Response) {
  const body = (await response.json()) as { error: { code: string; message: string; upload?: string } }
  if (response.headers.get('content-type') !== 'application/json') throw new Error('A refusal must be JSON.')
  return {
    status: response.status,
    code: body.error.code,
    error: body.error,
    requestId: response.headers.get('x-request-id'),
  }
}

/** Sends bytes over a connection of their own, and returns all that comes back until the server closes it. */
export async function exchange(url: string, text: string): Promise<string> {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.write(text, 'latin1')
  await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}

/** The JSON body of a raw HTTP response. */
export function bodyOf(response: string) {
  return JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4))
}
