import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { PresignedRequest } from '../../src/blobs/types.ts'
import { TransferError } from '../errors.ts'

/** How many blobs travel at once. */
export const TRANSFERS = 12
/** A connection that is silent for so long is taken for dead. */
const IDLE_MS = 60_000
/** How much of an error's text is read: enough for the code that S3 gives. */
const ERROR_TEXT_BYTES = 4_096

/** What is sent: exactly `size` bytes. The next chunk is asked for when the one before has left. */
export interface Body {
  chunks: AsyncIterable<Uint8Array>
  size: number
}

export interface Transport {
  /** Sends one presigned request; resolves with the head of the answer, whose body the caller reads. */
  send(request: PresignedRequest, body: Body | null, signal: AbortSignal): Promise<IncomingMessage>
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
        sent.on('timeout', () => sent.destroy(new TransferError('The storage did not answer in time.', undefined)))
        sent.on('error', reject)
        sent.on('response', (answer) => {
          // An answer before the body was sent ends the need for it; so does the connection, which would wait for the
          // rest.
          if (!sent.writableEnded) answer.once('end', () => sent.destroy())
          resolve(answer)
        })
        if (body === null) sent.end()
        else sendBody(sent, body).catch((error: Error) => sent.destroy(error))
      })
    },
    close() {
      http.destroy()
      https.destroy()
    },
  }
}

async function sendBody(sent: ClientRequest, { chunks, size }: Body): Promise<void> {
  let answered = false
  sent.once('response', () => {
    answered = true
  })
  let passed = 0
  for await (const chunk of chunks) {
    if (answered) return
    passed += chunk.length
    await new Promise<void>((resolve, reject) => {
      sent.write(chunk, (error) => (error ? reject(error) : resolve()))
    })
  }
  // A body that is shorter than announced would leave the other side waiting.
  if (passed !== size) throw new Error(`The body has ${passed} bytes instead of ${size}.`)
  sent.end()
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
