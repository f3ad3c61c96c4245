import { randomUUID } from 'node:crypto'
import type { Context } from 'aws-lambda'
import { LOCAL_API } from './event.ts'
import { MAX_INVOCATION_BYTES } from './limits.ts'
import type { FunctionModel } from './model.ts'

/** A handler of `lambdas/`, whatever its event and result are. */
// biome-ignore lint/suspicious/noExplicitAny: handlers differ in their events, and a parameter cannot be unknown.
export type LambdaHandler = (event: any, context: Context) => Promise<unknown>

/** The event is larger than a function takes. */
export class EventTooLargeError extends Error {}

/** The function threw, ran out of its time, or gave what cannot be sent. */
export class FunctionError extends Error {}

/** Nobody waits for the function any more. */
export class InvocationTimeoutError extends Error {}

/**
 * Runs a handler as Lambda would: with a copy of the event, and JSON for an answer.
 * @param waitMs how long the caller waits
 * @returns the parsed result
 * @throws EventTooLargeError, FunctionError, InvocationTimeoutError
 */
export async function invoke(
  model: FunctionModel,
  handler: LambdaHandler,
  event: unknown,
  waitMs: number,
): Promise<unknown> {
  const copy = copyEvent(event)
  const deadline = Date.now() + model.timeoutMs
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(timeoutError(model, waitMs)), Math.min(model.timeoutMs, waitMs))
  try {
    const running = run(model, handler, copy, deadline)
    return readResult(model, await Promise.race([running, timeout.promise]))
  } finally {
    clearTimeout(timer)
  }
}

/** What reaches a function. @throws EventTooLargeError */
export function copyEvent(event: unknown): unknown {
  const payload = JSON.stringify(event)
  if (Buffer.byteLength(payload) > MAX_INVOCATION_BYTES) throw new EventTooLargeError('The event is too large.')
  return JSON.parse(payload)
}

async function run(model: FunctionModel, handler: LambdaHandler, event: unknown, deadline: number): Promise<unknown> {
  try {
    return await handler(event, lambdaContext(model, deadline))
  } catch (cause) {
    throw new FunctionError(`The function ${model.name} threw.`, { cause })
  }
}

/** Whose time is over first: the function's, or that of who waits for it. */
export function timeoutError(model: FunctionModel, waitMs: number): Error {
  return model.timeoutMs < waitMs
    ? new FunctionError(`The function ${model.name} timed out after ${model.timeoutMs} ms.`)
    : new InvocationTimeoutError(`The function ${model.name} did not answer within ${waitMs} ms.`)
}

function readResult(model: FunctionModel, result: unknown): unknown {
  const text = JSON.stringify(result) ?? 'null'
  if (Buffer.byteLength(text) > MAX_INVOCATION_BYTES) {
    throw new FunctionError(`The result of the function ${model.name} is too large.`)
  }
  return JSON.parse(text)
}

export function lambdaContext(model: FunctionModel, deadline: number): Context {
  const { region, accountId } = LOCAL_API
  return {
    callbackWaitsForEmptyEventLoop: false,
    functionName: model.name,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:${region}:${accountId}:function:${model.name}`,
    memoryLimitInMB: String(model.memorySizeMb),
    awsRequestId: randomUUID(),
    logGroupName: `/aws/lambda/${model.name}`,
    logStreamName: 'local',
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
    done: () => undefined,
    fail: () => undefined,
    succeed: () => undefined,
  }
}
