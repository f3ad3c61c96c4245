import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { UpstreamError } from '../errors.ts'
import { ANTHROPIC_VERSION, type AnthropicConnection } from './connection.ts'

export interface MessagesInput {
  /** Whether the beta form of the route was called. */
  beta: boolean
  /** Those that the API reads, by their names in lower case. */
  headers: Readonly<Record<string, string>>
  body: Buffer
}

// Idle connections are used again: a new one costs several round trips before the first byte.
const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) }

/** After so long the other side may have closed an idle connection, of which a function that was frozen knows nothing. */
const IDLE_MS = 30_000
let lastRequestAt = 0

/**
 * Sends a request to the Messages API; the answer's body is still to be read, as slowly as it likes. Not by fetch, which
 * gives up after five minutes without a byte and changes what is compressed.
 * @throws UpstreamError when no answer comes; the signal's reason
 */
export async function postMessages(
  connection: AnthropicConnection,
  { beta, headers, body }: MessagesInput,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const url = new URL(`${connection.baseUrl}/v1/messages${beta ? '?beta=true' : ''}`)
  const all = {
    'anthropic-version': ANTHROPIC_VERSION,
    ...headers,
    'x-api-key': await connection.apiKey(),
    'content-type': 'application/json',
    'content-length': String(body.length),
    'accept-encoding': 'identity',
  }
  signal.throwIfAborted()
  try {
    return await exchange(url, all, body, signal)
  } catch (cause) {
    signal.throwIfAborted()
    throw new UpstreamError(502, 'upstream_failed', 'The model provider did not answer.', { cause })
  }
}

function exchange(
  url: URL,
  headers: Record<string, string>,
  body: Buffer,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const [send, agent] = url.protocol === 'http:' ? [httpRequest, agents.http] : [httpsRequest, agents.https]
    dropIdle(agent)
    const request = send(url, { method: 'POST', headers, agent, signal })
    request.on('response', resolve)
    request.on('error', reject)
    request.end(body)
  })
}

/** A request that fails on a stale connection could not be sent again: nobody knows whether it was carried out. */
function dropIdle(agent: HttpAgent): void {
  const now = Date.now()
  if (now - lastRequestAt >= IDLE_MS) {
    for (const socket of Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy()
  }
  lastRequestAt = now
}

const MAX_BODY_BYTES = 67_108_864

/** All of an answer's body. @throws UpstreamError when it breaks off or has more than 64 MiB; the signal's reason */
export async function readWhole(answer: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_BODY_BYTES) throw new Error('The answer is too long.')
      chunks.push(chunk)
    }
  } catch (cause) {
    signal.throwIfAborted()
    throw new UpstreamError(502, 'upstream_failed', 'The answer of the model provider broke off.', { cause })
  }
  return Buffer.concat(chunks)
}
