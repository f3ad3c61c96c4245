import { finished } from 'node:stream/promises'
import type { Context } from 'aws-lambda'
import { FunctionStream, type StreamReceiver } from './function-stream.ts'
import { copyEvent, FunctionError, InvocationTimeoutError, lambdaContext, timeoutError } from './invoke.ts'
import type { FunctionModel } from './model.ts'

/** A streaming handler of `lambdas/`, whatever its event is. */
// biome-ignore lint/suspicious/noExplicitAny: handlers differ in their events, and a parameter cannot be unknown.
export type LambdaStreamHandler = (event: any, stream: FunctionStream, context: Context) => Promise<void>

export interface StreamLimits {
  /** How long the caller waits for the whole answer. */
  waitMs: number
  /** How long the answer may pause. */
  idleMs: number
}

/**
 * Runs a streaming handler as Lambda would: with a copy of the event, and the receiver as slow as it likes. Returns when
 * the answer is whole and the handler has ended, or when the caller has gone, which destroys the handler's stream.
 * @param gone aborted when nobody takes the answer any more
 * @throws EventTooLargeError, FunctionError, InvocationTimeoutError
 */
export async function invokeStream(
  model: FunctionModel,
  handler: LambdaStreamHandler,
  event: unknown,
  { waitMs, idleMs }: StreamLimits,
  receiver: StreamReceiver,
  gone: AbortSignal,
): Promise<void> {
  if (gone.aborted) return
  const copy = copyEvent(event)
  const context = lambdaContext(model, Date.now() + model.timeoutMs)
  const stopped = Promise.withResolvers<void>()
  const idle = setTimeout(() => stopped.reject(new InvocationTimeoutError(`No byte for ${idleMs} ms.`)), idleMs)
  const time = setTimeout(() => stopped.reject(timeoutError(model, waitMs)), Math.min(model.timeoutMs, waitMs))
  const stream = new FunctionStream({
    ...receiver,
    piece: (piece, done) => {
      idle.refresh()
      receiver.piece(piece, done)
    },
  })
  gone.addEventListener('abort', () => stopped.resolve())
  try {
    await Promise.race([run(model, handler, copy, stream, context), stopped.promise])
  } finally {
    clearTimeout(idle)
    clearTimeout(time)
    stream.destroy()
  }
}

async function run(
  model: FunctionModel,
  handler: LambdaStreamHandler,
  event: unknown,
  stream: FunctionStream,
  context: Context,
): Promise<void> {
  try {
    const written = finished(stream)
    const returned = async (): Promise<void> => {
      await handler(event, stream, context)
      const whole = stream.writableEnded || stream.errored
      if (!whole) throw new Error('The handler returned before its answer was whole.')
    }
    await Promise.all([returned(), written])
  } catch (cause) {
    throw new FunctionError(`The function ${model.name} failed.`, { cause })
  }
}
