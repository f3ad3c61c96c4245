import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import { authorize } from './authorize.ts'
import { declaresTooMuch, readBody } from './body.ts'
import { answerClientError } from './client-error.ts'
import { methodArn, proxyEvent } from './event.ts'
import type { StreamReceiver } from './function-stream.ts'
import { EventTooLargeError, InvocationTimeoutError, invoke, type LambdaHandler } from './invoke.ts'
import { invokeStream, type LambdaStreamHandler } from './invoke-stream.ts'
import { MAX_HEADER_BYTES, MAX_METHOD_ARN_BYTES } from './limits.ts'
import { mockAnswer } from './mock-integration.ts'
import type { ApiModel, LambdaIntegrationModel } from './model.ts'
import { proxyAnswer, streamedAnswer } from './proxy-answer.ts'
import { readApi } from './read-api.ts'
import { headerBytes, type ReceivedRequest, receiveRequest } from './received-request.ts'
import { type Answer, Refusal, refusalAnswer } from './refusal.ts'
import { createRouter, type Match, methodOf } from './router.ts'
import type { Template } from './template.ts'
import { Throttle } from './throttle.ts'

export interface GatewayOptions {
  /** The synthesised stack. */
  template: Template
  /** The handlers of the functions, by the names that the template's metadata has for them. */
  handlers: Readonly<Record<string, LambdaHandler>>
  /** The handlers of the functions whose answers are streamed. @default none */
  streamHandlers?: Readonly<Record<string, LambdaStreamHandler>>
  /** @default any free port */
  port?: number
  /** In milliseconds since the epoch. @default Date.now */
  now?: () => number
  /** Told of what failed inside a request that was answered with 5xx, or of which the answer broke off. @default nothing is told */
  onError?: (error: unknown) => void
}

/** A running local gateway. */
export interface LocalGateway {
  /** Without a slash at the end. The API answers there as under a custom domain: without a stage in the path. */
  url: string
  /** Refuses new connections, and waits for the requests that are being answered. */
  stop(): Promise<void>
}

/** Longer than clients keep idle connections, so that the server does not close one just as a request comes. */
const KEEP_ALIVE_MS = 65_000

/** How long `stop` waits for the requests that are being answered, in milliseconds. */
const STOP_WAIT_MS = 2_000

/**
 * Starts an HTTP server on 127.0.0.1 that does what API Gateway would do with the REST API of the template.
 * @throws Error when the template uses what it does not do, a handler is missing, or the port is in use
 */
export async function startGateway(options: GatewayOptions): Promise<LocalGateway> {
  const gateway = new Gateway(options)
  // The gateway's own limits are lower; the parser's leave room to refuse in the API's own words.
  const server = createServer({ maxHeaderSize: 65_536, keepAliveTimeout: KEEP_ALIVE_MS, requireHostHeader: false })
  const onRequest = (message: IncomingMessage, response: ServerResponse): void => {
    void gateway.handle(message, response)
  }
  server.on('request', onRequest)
  server.on('checkContinue', onRequest)
  server.on('checkExpectation', onRequest)
  server.on('clientError', (error, socket) => answerClientError(gateway.api, error, socket))
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      const timer = setTimeout(() => server.closeAllConnections(), STOP_WAIT_MS)
      await closed
      clearTimeout(timer)
    },
  }
}

class Gateway {
  readonly api: ApiModel
  readonly #find: (path: string) => Match | undefined
  readonly #handlers: ReadonlyMap<string, LambdaHandler>
  readonly #streamHandlers: ReadonlyMap<string, LambdaStreamHandler>
  readonly #throttle: Throttle
  readonly #now: () => number
  readonly #onError: (error: unknown) => void

  constructor(options: GatewayOptions) {
    this.api = readApi(options.template)
    this.#find = createRouter(this.api)
    this.#handlers = new Map(Object.entries(options.handlers))
    this.#streamHandlers = new Map(Object.entries(options.streamHandlers ?? {}))
    this.#now = options.now ?? Date.now
    this.#throttle = new Throttle(this.api.throttling, this.#now())
    this.#onError = options.onError ?? (() => undefined)
    for (const { methods } of this.api.resources) {
      for (const { authorizer, integration } of methods.values()) {
        if (authorizer) handlerOf(this.#handlers, authorizer.name)
        if (integration.kind === 'lambda') {
          handlerOf<unknown>(integration.streams ? this.#streamHandlers : this.#handlers, integration.function.name)
        }
      }
    }
  }

  async handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = receiveRequest(message, this.#now())
    let answer: Answer | 'streamed'
    try {
      answer = await this.#answer(request, message, response)
    } catch (error) {
      if (message.destroyed && !message.complete) return
      const refusal = error instanceof Refusal ? error : new Refusal('DEFAULT_5XX', { cause: error })
      if (refusal.status >= 500) this.#onError(refusal)
      answer = refusalAnswer(this.api, refusal, request.requestId)
    }
    if (answer !== 'streamed') send(message, response, answer, request.requestId)
  }

  async #answer(
    request: ReceivedRequest,
    message: IncomingMessage,
    response: ServerResponse,
  ): Promise<Answer | 'streamed'> {
    if (message.headers.host === undefined) throw new Refusal('DEFAULT_4XX')
    if (headerBytes(message) > MAX_HEADER_BYTES) throw new Refusal('DEFAULT_4XX', { status: 431 })
    const match = this.#find(request.path)
    const method = match && methodOf(match.resource, request.method)
    if (!match || !method) throw new Refusal('MISSING_AUTHENTICATION_TOKEN')
    const { authorizer, keyRequired, integration } = method
    if (authorizer && methodArn(request).length > MAX_METHOD_ARN_BYTES)
      throw new Refusal('DEFAULT_4XX', { status: 414 })
    const said = authorizer
      ? await authorize(authorizer, handlerOf(this.#handlers, authorizer.name), request, match)
      : undefined
    const principal = said?.context
    const usageKey = keyRequired ? this.#throttle.takeOfKey(said?.usageKey, this.#now()) : undefined
    this.#throttle.takeOfAll(this.#now())
    if (integration.kind === 'mock') return mockAnswer(integration, request.contentType, request.requestId)
    if (declaresTooMuch(message)) throw tooLarge(principal)
    const { expect } = message.headers
    if (expect !== undefined && expect.toLowerCase() !== '100-continue')
      throw new Refusal('DEFAULT_4XX', { status: 417 })
    if (expect !== undefined) response.writeContinue()
    const body = await readBody(message, () => tooLarge(principal))
    const event = proxyEvent(request, match, principal, body, usageKey)
    if (!integration.streams) return proxyAnswer(await this.#invoke(integration, event))
    await this.#stream(integration, event, response, request.requestId)
    return 'streamed'
  }

  async #invoke(integration: LambdaIntegrationModel, event: APIGatewayProxyEvent): Promise<unknown> {
    const { function: model, timeoutMs } = integration
    try {
      return await invoke(model, handlerOf(this.#handlers, model.name), event, timeoutMs)
    } catch (error) {
      throw invocationRefusal(error, event)
    }
  }

  /** Sends the answer as it comes. @throws Refusal when none has begun; later ones break the connection */
  async #stream(
    integration: LambdaIntegrationModel,
    event: APIGatewayProxyEvent,
    response: ServerResponse,
    requestId: string,
  ): Promise<void> {
    const { function: model, timeoutMs } = integration
    const gone = new AbortController()
    if (response.destroyed) gone.abort()
    response.once('close', () => gone.abort())
    const receiver: StreamReceiver = {
      head: (head) => {
        sendHead(response, streamedAnswer(head), requestId)
        response.flushHeaders()
      },
      piece: (piece, done) => {
        if (response.write(piece)) done()
        else response.once('drain', done)
      },
      end: () => response.end(),
    }
    try {
      const limits = { waitMs: timeoutMs, idleMs: this.api.streamIdleMs }
      await invokeStream(model, handlerOf(this.#streamHandlers, model.name), event, limits, receiver, gone.signal)
    } catch (error) {
      const refusal = invocationRefusal(error, event)
      if (!response.headersSent) throw refusal
      this.#onError(refusal)
      if (!response.writableEnded) response.destroy()
    }
  }
}

function handlerOf<Handler>(handlers: ReadonlyMap<string, Handler>, name: string): Handler {
  const handler = handlers.get(name)
  if (!handler) throw new Error(`There is no handler for the function ${name}.`)
  return handler
}

function invocationRefusal(cause: unknown, { requestContext: { authorizer } }: APIGatewayProxyEvent): Refusal {
  if (cause instanceof EventTooLargeError) return tooLarge(authorizer, cause)
  if (cause instanceof InvocationTimeoutError) return new Refusal('INTEGRATION_TIMEOUT', { cause })
  return new Refusal('INTEGRATION_FAILURE', { status: 502, cause })
}

function tooLarge(authorizer: APIGatewayProxyEvent['requestContext']['authorizer'], cause?: unknown): Refusal {
  return new Refusal('REQUEST_TOO_LARGE', { cause, ...(authorizer && { authorizer }) })
}

function sendHead(response: ServerResponse, { status, headers }: Omit<Answer, 'body'>, requestId: string): void {
  for (const [name, value] of headers) response.appendHeader(name, value)
  response.setHeader('x-amzn-RequestId', requestId)
  response.statusCode = status
}

function send(message: IncomingMessage, response: ServerResponse, answer: Answer, requestId: string): void {
  sendHead(response, answer, requestId)
  // The rest of the body is read and dropped: closing at once could cost the client the answer. A large one, or one
  // that the client holds back until it is told to go on, is not worth keeping the connection for.
  if (!message.complete) {
    if (answer.status === 413 || message.headers.expect !== undefined) response.setHeader('connection', 'close')
    message.resume()
  }
  response.end(answer.body)
}
