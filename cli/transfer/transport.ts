import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import type { PresignedRequest } from '../../src/blobs/types.ts'
import { TransferError } from '../errors.ts'

/** How many blobs travel at once. */
export const TRANSFERS = 12
/** A connection that is silent for so long is taken for dead. */
const IDLE_MS = 60_000
/** How much of an error's text is read: enough for the code that S3 gives. */
const ERROR_TEXT_BYTES = 4_096

export interface Transport {
  /**
   * Sends one presigned request; resolves with the head of the answer, whose body the caller reads. A body is sent with
   * exactly `size` bytes as its length.
   */
  send(
    request: PresignedRequest,
    body: { stream: Readable | null; size: number } | null,
    signal: AbortSignal,
  ): Promise<IncomingMessage>
  close(): void
}

/**
 * Straight to the storage over kept connections. Not `fetch`: an upload needs its exact length on the wire, which a
 * stream given to `fetch` does not get.
 */
export function createTransport(): Transport {
  const options = { keepAlive: true, maxSockets: TRANSFERS }
  const http = new HttpAgent(options)
  const https = new HttpsAgent(options)
  return {
    send({ method, url, headers }, body, signal) {
      const secure = new URL(url).protocol === 'https:'
      return new Promise((resolve, reject) => {
        const length = body === null ? {} : { 'content-length': String(body.size) }
        const shared = { method, headers: { ...headers, ...length }, signal, timeout: IDLE_MS }
        const sent = secure
          ? httpsRequest(url, { ...shared, agent: https })
          : httpRequest(url, { ...shared, agent: http })
        const fail = (error: Error) => {
          body?.stream?.destroy()
          reject(error)
        }
        sent.on('timeout', () => sent.destroy(new TransferError('The storage did not answer in time.', undefined)))
        sent.on('error', fail)
        sent.on('response', (answer) => {
          if (body?.stream && !sent.writableEnded) {
            // The answer came before the body was sent, and ends the need for it; so does the connection, which would
            // wait for the rest.
            body.stream.destroy()
            answer.once('end', () => sent.destroy())
          }
          resolve(answer)
        })
        if (!body?.stream) {
          sent.end()
          return
        }
        let passed = 0
        body.stream.on('error', (error) => sent.destroy(error))
        body.stream.on('data', (chunk: Buffer) => {
          passed += chunk.length
        })
        body.stream.on('end', () => {
          // A body that is shorter than announced would leave the other side waiting.
          if (passed === body.size) sent.end()
          else sent.destroy(new Error(`The body has ${passed} bytes instead of ${body.size}.`))
        })
        body.stream.pipe(sent, { end: false })
      })
    },
    close() {
      http.destroy()
      https.destroy()
    },
  }
}

/** Reads an answer to its end, so that the connection can be used again; returns the beginning of its text. */
export async function drain(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (length < ERROR_TEXT_BYTES) chunks.push(chunk)
    length += chunk.length
  }
  return Buffer.concat(chunks).toString('utf8', 0, Math.min(length, ERROR_TEXT_BYTES))
}

/** The error for an answer that is not the one hoped for; the code is the one in S3's XML. */
export async function refusal(answer: IncomingMessage, what: string): Promise<TransferError> {
  const text = await drain(answer)
  const code = /<Code>([A-Za-z0-9.]+)<\/Code>/.exec(text)?.[1]
  const status = answer.statusCode ?? 0
  return new TransferError(`The storage refused ${what} (${status}${code === undefined ? '' : ` ${code}`}).`, status)
}
